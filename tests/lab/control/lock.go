// Package control is what the lab's commands do, seen from the machine: bring
// a lab up, look at it, change it, and take it down without a trace.
package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/process"
)

// lock is held by a command that makes or removes a lab. It is a socket in the
// abstract namespace: the kernel forgets it with its owner, however that ends.
type lock struct{ net.Listener }

// errHeld means that another command works on the same lab.
var errHeld = errors.New("another command makes or removes this lab")

func tryLock(lab string) (*lock, error) {
	listener, err := net.Listen("unix", address(lab))
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, errHeld
	}
	if err != nil {
		return nil, fmt.Errorf("locking the lab: %w", err)
	}
	return &lock{listener}, nil
}

func address(lab string) string { return "@" + process.Marker + "/" + lab }

func (l *lock) release() { _ = l.Close() }

// takeLock ends a `lab up` that is under way, and waits for any other command.
func takeLock(ctx context.Context, lab string) (*lock, error) {
	for {
		l, err := tryLock(lab)
		if !errors.Is(err, errHeld) {
			return l, err
		}
		if pid := owner(lab); pid > 0 && isUp(process.Args(pid)) {
			if err := stop(ctx, pid); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil, errHeld
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// owner is the process that holds the lock.
func owner(lab string) int {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: address(lab), Net: "unix"})
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Uid == 0 {
			pid = int(cred.Pid)
		}
	})
	return pid
}

func isUp(argv []string) bool { return len(argv) > 1 && argv[1] == "up" }

// stop asks a `lab up` to give up, and insists after a while.
func stop(ctx context.Context, pid int) error {
	patience, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if process.End(patience, pid, unix.SIGTERM, isUp) == nil {
		return nil
	}
	return process.End(ctx, pid, unix.SIGKILL, isUp)
}
