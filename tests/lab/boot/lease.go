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

// abandon ends everything in the lab, once what is bringing it up has stopped;
// the caller ends the lab's first process. The owner is dead, so nobody else
// would remove the cgroups.
func abandon(lab string, stopped <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cause := errors.New("the owner of the lab is dead")
	select {
	case err := <-stopped:
		cause = errors.Join(cause, err)
	case <-ctx.Done():
	}
	return errors.Join(cause,
		cgroup.Thaw(lab), unix.Kill(-1, unix.SIGKILL), cgroup.Remove(ctx, lab))
}
