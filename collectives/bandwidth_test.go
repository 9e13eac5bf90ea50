package collectives_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
)

func TestBandwidth(t *testing.T) {
	tests := map[string]struct {
		bytes    int64
		ranks    int
		took     time.Duration
		alg, bus float64
	}{
		// The rows of a real nccl-tests run print these to two digits.
		"8 ranks, 1 GiB in 4 ms": {bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435, bus: 469.762},
		"4 ranks, 16 MiB":        {bytes: 16 << 20, ranks: 4, took: 200 * time.Millisecond, alg: 0.0838861, bus: 0.125829},
		"2 ranks: bus is alg":    {bytes: 1000, ranks: 2, took: time.Microsecond, alg: 1, bus: 1},
		"one rank has no link":   {bytes: 1000, ranks: 1, took: time.Microsecond, alg: 1, bus: 0},
		"no time":                {bytes: 1000, ranks: 2},
		"no bytes":               {ranks: 2, took: time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			alg, bus := collectives.AllReduce.Bandwidth(test.bytes, test.ranks, test.took)
			require.InDelta(t, test.alg, float64(alg), 1e-3*test.alg)
			require.InDelta(t, test.bus, float64(bus), 1e-3*test.bus)
		})
	}
}

func TestCountRoundsDownToWholeElements(t *testing.T) {
	elements, actual := collectives.AllReduce.Count(4103)
	require.Equal(t, 1025, elements)
	require.EqualValues(t, 4100, actual)
}

func TestParseOp(t *testing.T) {
	for _, name := range []string{"allreduce", "all_reduce", "AllReduce"} {
		op, ok := collectives.ParseOp(name)
		require.True(t, ok, name)
		require.Equal(t, collectives.AllReduce, op)
	}
	_, ok := collectives.ParseOp("allreduc")
	require.False(t, ok)
}
