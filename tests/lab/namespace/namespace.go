// Package namespace moves threads into the namespaces of a lab's hosts.
package namespace

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// In runs a function in the network namespace of a process. The thread it runs
// on is thrown away afterwards.
func In(pid int, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := join(pid, "net", unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// ChildrenOf makes the processes that this thread starts members of the PID
// namespace of a process. The caller has locked its thread.
func ChildrenOf(pid int) error { return join(pid, "pid", unix.CLONE_NEWPID) }

// Enter moves this thread into all other namespaces of a process. The caller
// has locked its thread.
func Enter(pid int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // a mount namespace takes no shared root
		return fmt.Errorf("leaving the shared root: %w", err)
	}
	files := make([]*os.File, 0, 5)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	kinds := []struct {
		name string
		flag int
	}{{"cgroup", unix.CLONE_NEWCGROUP}, {"ipc", unix.CLONE_NEWIPC}, {"uts", unix.CLONE_NEWUTS}, {"net", unix.CLONE_NEWNET}, {"mnt", unix.CLONE_NEWNS}}
	for _, kind := range kinds { // all are opened first: the last one changes /proc
		f, err := open(pid, kind.name)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	for i, kind := range kinds {
		if err := unix.Setns(int(files[i].Fd()), kind.flag); err != nil {
			return fmt.Errorf("entering the %s namespace of process %d: %w", kind.name, pid, err)
		}
	}
	return nil
}

func join(pid int, name string, flag int) error {
	f, err := open(pid, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), flag); err != nil {
		return fmt.Errorf("entering the %s namespace of process %d: %w", name, pid, err)
	}
	return nil
}

func open(pid int, name string) (*os.File, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
	if err != nil {
		return nil, fmt.Errorf("finding the %s namespace of process %d: %w", name, pid, err)
	}
	return f, nil
}
