package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/process"
)

// DownDeadline is how long a lab may take to go.
const DownDeadline = 15 * time.Second

// Down removes a lab and everything that is left of it. It is content when
// there is nothing.
func Down(ctx context.Context, lab string) error {
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

// sweep ends the lab's first process, and with it, by the kernel's hand, all
// others in its namespaces; then whatever waits outside; then the cgroups.
func sweep(ctx context.Context, lab string) error {
	for {
		procs, err := process.Of(lab)
		if err != nil {
			return err
		}
		if len(procs) == 0 {
			return cgroup.Remove(ctx, lab)
		}
		if err := cgroup.Thaw(lab); err != nil {
			return err
		}
		if err := process.Kill(ctx, outermost(procs)); err != nil {
			return err
		}
	}
}

// outermost is the process whose end takes most others along.
func outermost(procs []process.Process) int {
	for _, role := range []process.Role{process.Init, process.Node} {
		for _, p := range procs {
			if p.Role == role {
				return p.PID
			}
		}
	}
	return procs[0].PID
}
