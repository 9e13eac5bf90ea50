package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/boot"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/namespace"
)

// Exit codes of a command that could not be run, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Enter goes into the host, becomes the user and then the command. It returns
// only if that fails. The caller has locked its thread.
func Enter(text string) (int, error) {
	s, err := parse(text)
	if err != nil {
		return exitNotExecutable, err
	}
	outside, _ := os.Stat(s.Dir)
	if err := namespace.Enter(s.Host); err != nil {
		return exitNotExecutable, err
	}
	account, err := become(s.User)
	if err != nil {
		return exitNotExecutable, err
	}
	if err := s.chdir(account, outside); err != nil {
		return exitNotExecutable, err
	}
	return s.exec(account)
}

// become drops root's rights for those of a user of the lab. The command
// shall not outlive the process that waits for it.
func become(user string) (cluster.Account, error) {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return cluster.Account{}, err
	}
	account, err := cluster.Lookup(string(passwd), user)
	if err != nil {
		return account, err
	}
	if err := syscall.Setgroups([]int{int(account.GID)}); err != nil {
		return account, fmt.Errorf("becoming %s: %w", user, err)
	}
	if err := syscall.Setgid(int(account.GID)); err != nil {
		return account, fmt.Errorf("becoming %s: %w", user, err)
	}
	if err := syscall.Setuid(int(account.UID)); err != nil {
		return account, fmt.Errorf("becoming %s: %w", user, err)
	}
	return account, unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGHUP), 0, 0, 0)
}

// chdir goes to the wanted directory, if it is the same one inside the lab, or
// else to the user's home.
func (s Session) chdir(account cluster.Account, outside fs.FileInfo) error {
	err := os.Chdir(s.Dir)
	if err == nil {
		inside, statErr := os.Stat(".")
		if statErr == nil && (outside == nil || os.SameFile(outside, inside)) {
			return nil
		}
		err = fmt.Errorf("%s is another directory inside the lab", s.Dir)
	}
	if s.Must {
		return fmt.Errorf("%s cannot work there: %w", account.Name, err)
	}
	fmt.Fprintf(os.Stderr, "lab: %s cannot work in %s; the command runs in %s\n", account.Name, s.Dir, account.Home)
	return os.Chdir(account.Home)
}

func (s Session) exec(account cluster.Account) (int, error) {
	env := environment(account)
	if err := os.Setenv("PATH", boot.Path); err != nil {
		return exitNotExecutable, err
	}
	path, err := exec.LookPath(s.Argv[0])
	if err == nil {
		err = unix.Exec(path, s.Argv, env)
	}
	err = fmt.Errorf("running %s: %w", s.Argv[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound, err
	}
	return exitNotExecutable, err
}

// environment is what a login would give; of the caller's only what describes
// the terminal and the language.
func environment(account cluster.Account) []string {
	env := []string{
		"PATH=" + boot.Path,
		"HOME=" + account.Home,
		"USER=" + account.Name,
		"LOGNAME=" + account.Name,
		"SHELL=/bin/bash",
	}
	for _, name := range []string{"TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
