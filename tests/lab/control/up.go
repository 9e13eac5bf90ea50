package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/boot"
	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
)

// Up starts a lab and returns when all its nodes are idle. If it fails, or its
// context ends, nothing is left.
func Up(ctx context.Context, spec cluster.Spec) error {
	if err := check(spec); err != nil {
		return err
	}
	l, err := tryLock(spec.Name)
	if err != nil {
		return fmt.Errorf("lab %s: %w", spec.Name, err)
	}
	defer l.release()
	if _, err := process.Find(spec.Name); err == nil {
		return fmt.Errorf("lab %s is up already: `lab down --name %s` removes it", spec.Name, spec.Name)
	}
	if err := clean(spec.Name); err != nil {
		return err
	}
	err = raise(ctx, spec)
	if err != nil {
		err = errors.Join(err, clean(spec.Name))
	}
	return err
}

// check says what is missing before anything is started.
func check(spec cluster.Spec) error {
	if err := spec.Check(); err != nil {
		return err
	}
	for _, program := range boot.Programs {
		if _, err := boot.Find(program); err != nil {
			return err
		}
	}
	if spec.Cgroup {
		if err := cgroup.Check(); err != nil {
			return err
		}
	}
	return open(spec.Build)
}

// open lets everybody read the build tree, as the lab's users must; whoever
// builds under a strict umask makes files that only root can run. The way to
// the tree stays as closed as it was.
func open(build string) error {
	err := filepath.WalkDir(build, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()
		wide := mode | mode&0o500>>3 | mode&0o500>>6
		if wide == mode {
			return nil
		}
		return os.Chmod(path, wide)
	})
	if err != nil {
		return fmt.Errorf("opening the build tree to the lab's users: %w", err)
	}
	return nil
}

// clean removes the rest of an earlier lab or of a failed start. It has a
// deadline of its own: it must also work after an interrupt.
func clean(lab string) error {
	ctx, cancel := context.WithTimeout(context.Background(), DownDeadline)
	defer cancel()
	return sweep(ctx, lab)
}

func raise(ctx context.Context, spec cluster.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, boot.Deadline)
	defer cancel()
	s, err := launch(spec)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.started(ctx); err != nil {
		return s.explain(err)
	}
	if err := s.idle(ctx); err != nil {
		return s.explain(err)
	}
	if _, err := s.lease.Write([]byte{1}); err != nil {
		return fmt.Errorf("the lab ended just when it was ready: %w", err)
	}
	return nil
}

// start is a lab that is coming up.
type start struct {
	lab    *process.Lab
	lease  *os.File
	lines  <-chan string
	report *os.File
	nodes  map[string]string // the last answer of sinfo
}

// launch starts the lab's first process in namespaces of its own.
func launch(spec cluster.Spec) (*start, error) {
	// A descriptor of the caller's that the lab kept open would keep the caller
	// waiting for its end.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("closing descriptors: %w", err)
	}
	leaseOut, lease, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer leaseOut.Close()
	report, reportIn, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lease.Close())
	}
	defer reportIn.Close()
	cmd := exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       process.Argv(spec.Name, process.Init, spec.String()),
		Env:        []string{"PATH=" + os.Getenv("PATH")},
		Dir:        "/",
		Stderr:     reportIn,
		ExtraFiles: []*os.File{leaseOut},
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		},
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the lab: %w", err), lease.Close(), report.Close())
	}
	go cmd.Wait() //nolint:errcheck // it is only reaped here: how it went is read from the report
	lab := &process.Lab{Spec: spec, Init: cmd.Process.Pid}
	return &start{lab: lab, lease: lease, report: report, lines: lines(report)}, nil
}

func (s *start) close() {
	_ = s.lease.Close()
	_ = s.report.Close()
}

// lines reads the report; the channel ends with it.
func lines(report io.Reader) <-chan string {
	out := make(chan string, 64)
	go func() {
		defer close(out)
		for scanner := bufio.NewScanner(report); scanner.Scan(); {
			out <- scanner.Text()
		}
	}()
	return out
}

// started waits until every daemon runs.
func (s *start) started(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("the daemons did not start: %w", ctx.Err())
	case line, ok := <-s.lines:
		if !ok {
			return errors.New("the lab's first process was killed")
		}
		if line != boot.Started {
			return errors.New(line)
		}
		return nil
	}
}

// idle waits until every node is idle.
func (s *start) idle(ctx context.Context) error {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		nodes, err := States(ctx, s.lab)
		if err == nil && countIdle(nodes) == s.lab.Spec.Nodes {
			return nil
		}
		if err == nil {
			s.nodes = nodes
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not all nodes became idle (%v, %w)", s.nodes, ctx.Err())
		case line, ok := <-s.lines:
			if !ok {
				return errors.New("the lab's first process was killed")
			}
			return errors.New(line)
		case <-tick.C:
		}
	}
}

func countIdle(states map[string]string) int {
	n := 0
	for _, state := range states {
		if strings.TrimSuffix(state, "*") == "idle" {
			n++
		}
	}
	return n
}
