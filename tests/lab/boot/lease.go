package boot

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cgroup"
)

// lease holds a lab that is not complete yet: its owner either keeps it, with
// one byte, or dies, and then the lab goes too.
type lease struct{ kept chan struct{} }

func newLease(fd int, lab string) *lease {
	unix.CloseOnExec(fd)
	l := &lease{kept: make(chan struct{})}
	pipe := os.NewFile(uintptr(fd), "lease")
	go func() {
		defer pipe.Close()
		if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
			close(l.kept)
			return
		}
		abandon(lab)
	}()
	return l
}

// abandon ends everything in the lab, and then the lab itself. Its owner is
// dead, so nobody else would remove the cgroups.
func abandon(lab string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = cgroup.Thaw(lab)
	_ = unix.Kill(-1, unix.SIGKILL)
	_ = cgroup.Remove(ctx, lab)
	os.Exit(1)
}
