package boot

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cgroup"
)

// lease holds a lab that is not complete yet: its owner either keeps it, with
// one byte, or dies, and then the lab goes too.
type lease struct{ kept, lost chan struct{} }

func newLease(fd int) *lease {
	unix.CloseOnExec(fd)
	l := &lease{kept: make(chan struct{}), lost: make(chan struct{})}
	pipe := os.NewFile(uintptr(fd), "lease")
	go func() {
		defer pipe.Close()
		if n, _ := pipe.Read(make([]byte, 1)); n == 1 {
			close(l.kept)
		} else {
			close(l.lost)
		}
	}()
	return l
}

// abandon ends everything in the lab; the caller ends the lab's first process.
// The owner is dead, so nobody else would remove the cgroups.
func abandon(lab string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(errors.New("the owner of the lab is dead"),
		cgroup.Thaw(lab), unix.Kill(-1, unix.SIGKILL), cgroup.Remove(ctx, lab))
}
