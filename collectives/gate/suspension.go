package gate

import (
	"context"
	"log/slog"
	"time"

	"slurm-preflight/internal/slurm"
)

// suspension watches whether Slurm holds the job still. A conductor that runs on
// the login host goes on then, while all nodes are silent.
type suspension struct {
	job slurm.Job // as it was seen last
	log *slog.Logger
}

const (
	// asking bounds one question to Slurm, so that a controller in trouble does not hold up the gate.
	asking = 5 * time.Second
	// resuming is how often a suspended job is looked at.
	resuming = time.Second
)

// ended reports whether the job was suspended since it was seen last. It
// returns when the job goes on: for that, no deadline but the job's own makes sense.
func (s *suspension) ended(ctx context.Context) bool {
	for {
		before := s.job.Suspended
		if err := s.look(ctx); err != nil {
			s.log.Warn("cannot see whether the job is suspended", "error", err)
			return false
		}
		if s.job.State != "SUSPENDED" {
			return s.job.Suspended != before
		}
		s.job.Suspended = before // to be told from the time at which it goes on
		select {
		case <-time.After(resuming):
		case <-ctx.Done():
			return false
		}
	}
}

func (s *suspension) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	job, err := slurm.ShowJob(ctx, s.job.ID)
	if err == nil {
		s.job = job
	}
	return err
}
