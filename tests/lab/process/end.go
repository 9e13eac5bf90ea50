package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Kill ends a process of a lab and waits until it is gone. The first process of a
// PID namespace is gone only after all others of it.
func Kill(ctx context.Context, pid int) error {
	return End(ctx, pid, unix.SIGKILL, func(argv []string) bool {
		_, ours := Parse(argv)
		return ours
	})
}

// End sends a process a signal and waits until it is gone. The process is held
// by a descriptor and looked at again, so that no other one that was given the
// same id meanwhile is hit.
func End(ctx context.Context, pid int, signal unix.Signal, ours func(argv []string) bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if reaped(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("holding process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !ours(Args(pid)) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", pid, err)
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("waiting for process %d: %w", pid, err)
		case ctx.Err() != nil:
			return fmt.Errorf("process %d does not end: %w", pid, ctx.Err())
		}
	}
}

// reaped says whether a process could not be held because it is gone. The
// kernel has other words for one that is being reaped at this moment.
func reaped(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT)
}

// Signal sends the process a signal, if it is still the same.
func (p Process) Signal(signal unix.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return fmt.Errorf("holding process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if same, ok := Parse(Args(p.PID)); !ok || same.Lab != p.Lab {
		return nil
	}
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// Eventually asks until the answer is yes, no longer than the context lasts.
func Eventually(ctx context.Context, every time.Duration, yes func() bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
