package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/process"
)

// forwarded are the signals that reach the command.
var forwarded = []os.Signal{ //nolint:gochecknoglobals // a constant table
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
}

// Replace makes this process the one that waits, under the words by which
// `lab down` finds it.
func Replace(s Session) error {
	err := unix.Exec("/proc/self/exe", process.Argv(s.Lab, process.Run, s.text()), os.Environ())
	return fmt.Errorf("starting the session: %w", err)
}

// Supervise is what the waiting process does. It returns the exit code. The
// caller has locked its thread, on which the command's life hangs.
func Supervise(text string) (int, error) {
	s, err := parse(text)
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	group, err := watchGroup()
	if err != nil {
		return 0, err
	}
	defer group.close()
	cmd := s.Command(context.Background())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := s.Start(cmd); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case got := <-signals:
			if err := group.forward(got, cmd.Process); err != nil {
				return 0, err
			}
		case err := <-ended:
			return code(cmd.ProcessState, err)
		}
	}
}

// code is the exit code of a command, as a shell would give it.
func code(state *os.ProcessState, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for the session: %w", err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}
