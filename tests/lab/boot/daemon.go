package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/rootfs"
)

// Path is the search path inside a lab.
const Path = cluster.Product + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Programs are what a lab starts.
var Programs = []string{"munged", "slurmctld", "slurmd", "srun", "sinfo"} //nolint:gochecknoglobals // a constant table

// Find is where a program is: in PATH, or where Debian puts daemons.
func Find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return filepath.Abs(path)
	}
	path := filepath.Join("/usr/sbin", program)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is neither in PATH nor in /usr/sbin: `make deps` installs it", program)
	}
	return path, nil
}

// host is what the first processes of the login host and of a node have in
// common.
type host struct {
	name     string
	children *children
	munge    cluster.Account
	slurm    cluster.Account
}

// newHost reports daemons that end to the given file.
func newHost(name string, report *os.File) (*host, error) {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	h := &host{name: name}
	if h.munge, err = cluster.Lookup(string(passwd), "munge"); err != nil {
		return nil, fmt.Errorf("%w: `make deps` installs munge", err)
	}
	if h.slurm, err = cluster.Lookup(string(passwd), "slurm"); err != nil {
		return nil, fmt.Errorf("%w: `make deps` installs Slurm", err)
	}
	h.children = newChildren(func(program string, status syscall.WaitStatus) {
		_, _ = fmt.Fprintf(report, "%s on %s ended: %s\n", program, name, describe(status))
	})
	return h, rootfs.Prepare(name, h.munge, h.slurm)
}

// daemon starts a program in the foreground; what it says goes to its own file.
func (h *host) daemon(as *syscall.Credential, program string, args ...string) error {
	path, err := Find(program)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out, err := os.OpenFile(OutFile(h.name, program), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = h.children.start(program, path, append([]string{path}, args...), &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=" + Path, "LANG=C.UTF-8"},
		Files: []uintptr{null.Fd(), out.Fd(), out.Fd()},
		Sys:   &syscall.SysProcAttr{Credential: as, Setsid: true},
	})
	return err
}

// OutFile is where the output of a host's daemon goes.
func OutFile(host, program string) string { return cluster.LogDir(host) + "/" + program + ".out" }

// munged starts the authentication service and waits for its socket.
func (h *host) munged(ctx context.Context) error {
	as := &syscall.Credential{Uid: h.munge.UID, Gid: h.munge.GID}
	err := h.daemon(as, "munged", "--foreground", "--force",
		"--seed-file="+cluster.MungeDir+"/munged.seed", "--log-file="+cluster.MungeDir+"/munged.log")
	if err != nil {
		return err
	}
	err = process.Eventually(ctx, 2*time.Millisecond, func() bool {
		_, err := os.Stat(cluster.MungeDir + "/munge.socket.2")
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("munged on %s made no socket: %w", h.name, err)
	}
	return nil
}

// slurmctld starts the controller and waits until it listens.
func (h *host) slurmctld(ctx context.Context) error {
	if err := h.daemon(nil, "slurmctld", "-D"); err != nil {
		return err
	}
	return listens(ctx, cluster.LoginAddr, cluster.SlurmctldPort)
}

// slurmd starts a node's daemon, which says that the node has booted just now,
// and not when the machine did.
func (h *host) slurmd() error { return h.daemon(nil, "slurmd", "-D", "-b", "-N", h.name) }

// listens waits until somebody listens at an address.
func listens(ctx context.Context, host string, port int) error {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	dialer := net.Dialer{Timeout: time.Second}
	err := process.Eventually(ctx, 5*time.Millisecond, func() bool {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	if err != nil {
		return fmt.Errorf("nobody listens at %s: %w", address, err)
	}
	return nil
}
