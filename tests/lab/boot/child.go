// Package boot is what the first processes of a lab do: the login host's,
// which makes the network and powers the nodes, and each node's.
package boot

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// children are the processes that a host's first process has started. It also
// inherits every orphan of its host, and so it reaps whatever ends.
type children struct {
	mu    sync.Mutex
	names map[int]string
	ended func(name string, status syscall.WaitStatus)
}

func newChildren(ended func(string, syscall.WaitStatus)) *children {
	c := &children{names: map[int]string{}, ended: ended}
	dead := make(chan os.Signal, 1)
	signal.Notify(dead, unix.SIGCHLD)
	go func() {
		for range dead {
			c.reap()
		}
	}()
	return c
}

// start runs a program under a name. It holds the lock, so that a child that
// ends at once is known when it is reaped.
func (c *children) start(name, path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", name, err)
	}
	c.names[pid] = name
	return pid, nil
}

// has says whether a child of that name lives.
func (c *children) has(name string) bool {
	c.reap() // it may have ended just now
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.names {
		if n == name {
			return true
		}
	}
	return false
}

// reap takes note of every child that has ended. Under the lock a child is
// either known or reaped, never neither.
func (c *children) reap() {
	for {
		var status syscall.WaitStatus
		c.mu.Lock()
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		name, ours := c.names[pid]
		delete(c.names, pid)
		c.mu.Unlock()
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || pid <= 0:
			return
		case ours:
			c.ended(name, status)
		}
	}
}

// describe says how a process ended.
func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
