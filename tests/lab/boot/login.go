package boot

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/link"
	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/rootfs"
)

// Deadline is how long a lab may take to come up.
const Deadline = 30 * time.Second

// Started is the line with which the login host says that every daemon runs.
const Started = "started"

// leaseFD is the pipe that holds the lab until its owner keeps it.
const leaseFD = 3

// Login is the first process of a lab. It says on stderr, which is a pipe to
// `lab up`, how it went, and then stays.
func Login(spec cluster.Spec) error {
	surviveReader()
	lease := newLease(leaseFD)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- stay(ctx, spec, lease.kept) }()
	select {
	case <-lease.lost:
		cancel()
		return abandon(spec.Name, ended)
	case err := <-ended:
		return err
	}
}

// surviveReader makes a write to stderr after its reader has gone an error and
// not the end of this process.
func surviveReader() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// stay brings the lab up and takes orders once it is kept.
func stay(ctx context.Context, spec cluster.Spec, kept <-chan struct{}) error {
	boot, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	l, err := newLogin(spec)
	if err != nil {
		return err
	}
	if err := l.boot(boot); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, Started)
	select {
	case <-kept:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := logTo(cluster.LogDir(cluster.Login) + "/init.out"); err != nil {
		return err
	}
	return l.serve()
}

// login is the login host.
type login struct {
	*host
	spec cluster.Spec
}

func newLogin(spec cluster.Spec) (*login, error) {
	unix.Umask(0o022)
	if err := unix.Sethostname([]byte(cluster.Login)); err != nil {
		return nil, fmt.Errorf("naming the login host: %w", err)
	}
	if err := rootfs.Login(spec); err != nil {
		return nil, err
	}
	h, err := newHost(cluster.Login, os.Stderr)
	return &login{h, spec}, err
}

// boot starts the controller and then all nodes, which have their files ready
// by the time the controller listens.
func (l *login) boot(ctx context.Context) error {
	if err := link.Bridge(fmt.Sprintf("%s/%d", cluster.LoginAddr, cluster.PrefixBits), cluster.MTU); err != nil {
		return err
	}
	nodes := make([]*os.File, 0, l.spec.Nodes)
	for _, name := range l.spec.NodeNames() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		start, err := l.power(name)
		if err != nil {
			return err
		}
		nodes = append(nodes, start)
	}
	if err := l.munged(ctx); err != nil {
		return err
	}
	if err := l.slurmctld(ctx); err != nil {
		return err
	}
	for _, start := range nodes {
		if err := begin(start); err != nil {
			return err
		}
	}
	return nil
}

// power starts a node's first process and plugs its link in. The node begins
// to work when the returned pipe says so.
func (l *login) power(node string) (*os.File, error) {
	index, err := l.spec.Index(node)
	if err != nil {
		return nil, err
	}
	if l.spec.Cgroup {
		if err := cgroup.Create(l.spec.Name, node); err != nil {
			return nil, err
		}
	}
	wait, start, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer wait.Close()
	pid, err := l.children.start(node, "/proc/self/exe",
		process.Argv(l.spec.Name, process.Node, node, l.spec.String()), &syscall.ProcAttr{
			Dir:   "/",
			Env:   []string{"PATH=" + Path},
			Files: []uintptr{wait.Fd(), 2, 2},
			Sys: &syscall.SysProcAttr{
				Setsid:     true,
				Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID,
			},
		})
	if err != nil {
		return nil, err
	}
	return start, link.Plug(node, index, pid, cluster.MTU, l.spec.Rate)
}

// begin tells a node that its link and the controller are there.
func begin(start *os.File) error {
	defer start.Close()
	_, err := start.WriteString("begin\n")
	return err
}

// logTo makes a file this process's stderr.
func logTo(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Dup3(int(f.Fd()), 2, 0)
}
