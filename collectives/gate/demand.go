package gate

import (
	"context"
	"slices"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/slurm"
)

// Start is what begins after a gate.
type Start string

// The starts. A job with a script is gated at Batch, before the script; the
// steps inside belong to a job that has been gated.
const (
	Batch Start = "batch"
	Srun  Start = "srun"
)

// Demand works out what a job is to be measured for before this start, if at
// all. It asks Slurm about the job only where the site's default may be meant.
func Demand(ctx context.Context, site collectives.Site, option, jobID string, start Start) (collectives.Demand, error) {
	meant := false
	if site.Standing(option) {
		job, err := slurm.ShowJob(ctx, jobID)
		// A job that cannot be asked about is not let off: the gate meets the same error and reports it.
		meant = err != nil || isMeant(site.Config.Gate, job, start)
	}
	return site.Demand(option, meant)
}

// isMeant says whether the site's default is meant for a job. Whether a job has a
// script is Slurm's word, which no variable of the user's can change.
func isMeant(settings config.Gate, job slurm.Job, start Start) bool {
	when := settings.Default.When
	gpus := 0
	for _, count := range job.GPUs {
		gpus += count
	}
	return (start != Srun || !job.Batch) &&
		len(job.Nodes) >= when.MinNodes && gpus >= when.MinGPUs &&
		(len(when.Partitions) == 0 || slices.Contains(when.Partitions, job.Partition)) &&
		max(len(job.Nodes), gpus) > 1 // one rank can measure nothing
}
