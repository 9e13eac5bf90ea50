package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/slurm"
)

func TestIsMeant(t *testing.T) {
	job := func(nodes, gpus int, partition string, batch bool) slurm.Job {
		return slurm.Job{Nodes: make([]string, nodes), GPUs: map[string]int{"n1": gpus}, Partition: partition, Batch: batch}
	}
	tests := map[string]struct {
		when  config.When
		job   slurm.Job
		start Start
		meant bool
	}{
		"no condition":              {config.When{}, job(2, 0, "a", true), Batch, true},
		"srun alone":                {config.When{}, job(2, 0, "a", false), Srun, true},
		"srun in a batch script":    {config.When{}, job(2, 0, "a", true), Srun, false},
		"one rank":                  {config.When{}, job(1, 0, "a", true), Batch, false},
		"one GPU":                   {config.When{}, job(1, 1, "a", true), Batch, false},
		"one node of several GPUs":  {config.When{}, job(1, 8, "a", true), Batch, true},
		"too few nodes":             {config.When{MinNodes: 3}, job(2, 16, "a", true), Batch, false},
		"enough nodes":              {config.When{MinNodes: 2}, job(2, 0, "a", true), Batch, true},
		"too few GPUs":              {config.When{MinGPUs: 8}, job(9, 7, "a", true), Batch, false},
		"enough GPUs":               {config.When{MinGPUs: 8}, job(2, 8, "a", true), Batch, true},
		"another partition":         {config.When{Partitions: []string{"b", "c"}}, job(2, 0, "a", true), Batch, false},
		"one of the partitions":     {config.When{Partitions: []string{"b", "a"}}, job(2, 0, "a", true), Batch, true},
		"all must hold: nodes, not": {config.When{MinNodes: 4, MinGPUs: 8, Partitions: []string{"a"}}, job(3, 8, "a", true), Batch, false},
	}
	for name, test := range tests {
		require.Equal(t, test.meant, isMeant(config.Gate{Default: config.Default{When: test.when}}, test.job, test.start), name)
	}
}

// A job that Slurm cannot be asked about is gated, so that somebody hears of it.
func TestUnknownJobIsNotLetOff(t *testing.T) {
	site, err := collectives.NewSite(config.FromArgs([]string{"gate.default=allreduce"}))
	require.NoError(t, err)
	demand, err := Demand(t.Context(), site, "", "no number", Batch)
	require.NoError(t, err)
	require.Equal(t, []collectives.Op{collectives.AllReduce}, demand.Spec.Ops)
	require.False(t, demand.Asked)

	demand, err = Demand(t.Context(), site, "off", "no number", Batch)
	require.NoError(t, err)
	require.Empty(t, demand.Spec.Ops)
}
