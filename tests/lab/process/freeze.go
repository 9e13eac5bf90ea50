package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Freeze stops every process of a host, and looks again until none runs:
// a process may have forked meanwhile.
func Freeze(ctx context.Context, first int) error {
	return settle(ctx, first, unix.SIGSTOP, func(state string) bool { return state == "T" || state == "t" || state == "Z" })
}

// Thaw lets the processes of a host go on.
func Thaw(ctx context.Context, first int) error {
	return settle(ctx, first, unix.SIGCONT, func(state string) bool { return state != "T" })
}

func settle(ctx context.Context, first int, signal unix.Signal, done func(string) bool) error {
	var failed error
	err := Eventually(ctx, 5*time.Millisecond, func() bool {
		all := true
		var pids []int
		if pids, failed = Members(first); failed != nil {
			return true
		}
		for _, pid := range pids {
			if done(state(pid)) {
				continue
			}
			all = false
			if err := unix.Kill(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
				failed = fmt.Errorf("signalling process %d: %w", pid, err)
			}
		}
		return all || failed != nil
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("some processes of the node did not settle: %w", err)
	}
	return nil
}

// Members lists the processes in the PID namespace of a host's first process.
func Members(first int) ([]int, error) {
	space := pidNamespace(first)
	if space == "" {
		return nil, fmt.Errorf("process %d is gone", first)
	}
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var pids []int
	for _, p := range procs {
		if pidNamespace(p.PID) == space {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

func pidNamespace(pid int) string {
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return ""
	}
	return space
}

// state is the letter in /proc/PID/stat; a process that has ended has Z.
func state(pid int) string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return "Z"
	}
	stat, err := p.Stat()
	if err != nil {
		return "Z"
	}
	return stat.State
}
