package rundir

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockName is the file by which the gates of one attempt take turns.
const lockName = "lock"

// turnPoll is how often somebody in a queue looks up. Slurm hosts share a home
// over networks that know no blocking locks with a deadline.
const turnPoll = 50 * time.Millisecond

// Turn waits until nobody else holds the attempt's lock; waiting is called once if it has to.
// The lock ends with release, or with this process however it ends.
func (d Dir) Turn(ctx context.Context, waiting func()) (release func(), err error) {
	file, err := os.OpenFile(d.Path(lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		if !said {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(turnPoll):
		}
	}
}
