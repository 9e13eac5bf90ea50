package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
)

// DownDeadline is how long a lab may take to go.
const DownDeadline = 15 * time.Second

// Down removes a lab and everything that is left of it. It is content when
// there is nothing.
func Down(ctx context.Context, lab string) error {
	if err := cluster.CheckName(lab); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, DownDeadline)
	defer cancel()
	l, err := takeLock(ctx, lab)
	if err != nil {
		return fmt.Errorf("lab %s: %w", lab, err)
	}
	defer l.release()
	if err := sweep(ctx, lab); err != nil {
		return fmt.Errorf("lab %s did not go completely: %w", lab, err)
	}
	return nil
}

// DownAll removes all labs.
func DownAll(ctx context.Context) error {
	running, err := process.Names()
	if err != nil {
		return err
	}
	rest, err := cgroup.Labs()
	if err != nil {
		return err
	}
	names := append(running, rest...)
	slices.Sort(names)
	var failed []error
	for _, lab := range slices.Compact(names) {
		failed = append(failed, Down(ctx, lab))
	}
	return errors.Join(failed...)
}

// grace is how long `lab run` may take to see that its command has ended.
const grace = time.Second

// sweep ends the lab's first process, and with it, by the kernel's hand, all
// others in its namespaces; then whatever waits outside; then the cgroups.
func sweep(ctx context.Context, lab string) error {
	if err := cgroup.Thaw(lab); err != nil {
		return err
	}
	if err := end(ctx, lab); err != nil {
		return err
	}
	return cgroup.Remove(ctx, lab)
}

// end ends all processes of a lab. The first one is not gone until every
// process in its namespace is not only dead but reaped, and a command is
// reaped by the `lab run` outside: so that one is woken, if it was stopped, and
// killed only if it still does not go.
func end(ctx context.Context, lab string) error {
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := process.Eventually(patience, 2*time.Millisecond, gone(lab, func(p process.Process) unix.Signal {
		if p.Role == process.Run {
			return unix.SIGCONT
		}
		return unix.SIGKILL
	}))
	if err != nil {
		err = process.Eventually(ctx, 2*time.Millisecond, gone(lab, func(process.Process) unix.Signal { return unix.SIGKILL }))
	}
	return err
}

// gone signals every process of a lab and says whether there was none.
func gone(lab string, signal func(process.Process) unix.Signal) func() bool {
	return func() bool {
		procs, err := process.Of(lab)
		for _, p := range procs {
			_ = p.Signal(signal(p)) // it may just have ended
		}
		return err == nil && len(procs) == 0
	}
}
