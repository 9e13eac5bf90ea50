package collectives_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
)

// The figures are the formulas of nccl-tests computed by hand. GiB is 1.073741824 GB, and MiB 1.048576 MB.
func TestBandwidth(t *testing.T) {
	tests := []struct {
		op       collectives.Op
		bytes    int64
		ranks    int
		took     time.Duration
		alg, bus float64
	}{
		{op: collectives.AllReduce, bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435456, bus: 469.762048},
		{op: collectives.AllReduce, bytes: 16 << 20, ranks: 4, took: 200 * time.Millisecond, alg: 0.08388608, bus: 0.12582912},
		{op: collectives.AllReduce, bytes: 1000, ranks: 2, took: time.Microsecond, alg: 1, bus: 1},
		{op: collectives.AllReduce, bytes: 1000, ranks: 1, took: time.Microsecond, alg: 1, bus: 0},
		{op: collectives.AllGather, bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435456, bus: 234.881024},
		{op: collectives.ReduceScatter, bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435456, bus: 234.881024},
		{op: collectives.AllToAll, bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435456, bus: 234.881024},
		// 1,000 bytes over 3 ranks are blocks of 320 bytes, 960 in all.
		{op: collectives.AllGather, bytes: 1000, ranks: 3, took: time.Microsecond, alg: 0.96, bus: 0.64},
		{op: collectives.ReduceScatter, bytes: 1000, ranks: 3, took: time.Microsecond, alg: 0.96, bus: 0.64},
		{op: collectives.AllToAll, bytes: 1000, ranks: 3, took: time.Microsecond, alg: 0.96, bus: 0.64},
		{op: collectives.AllToAll, bytes: 1000, ranks: 1, took: time.Microsecond, alg: 0.992, bus: 0},
		{op: collectives.Broadcast, bytes: 1 << 30, ranks: 8, took: 4 * time.Millisecond, alg: 268.435456, bus: 268.435456},
		{op: collectives.Reduce, bytes: 1 << 30, ranks: 3, took: 4 * time.Millisecond, alg: 268.435456, bus: 268.435456},
		{op: collectives.SendRecv, bytes: 1003, ranks: 5, took: time.Microsecond, alg: 1, bus: 1},
		{op: collectives.AllReduce, bytes: 1000, ranks: 2},
		{op: collectives.AllReduce, ranks: 2, took: time.Second},
		{op: collectives.AllGather, bytes: 31, ranks: 2, took: time.Second},
		{op: "allscatter", bytes: 1000, ranks: 2, took: time.Microsecond, alg: 1, bus: 0},
	}
	for _, test := range tests {
		alg, bus := test.op.Bandwidth(test.bytes, test.ranks, test.took)
		require.InDelta(t, test.alg, float64(alg), 1e-9*test.alg, "algbw of %+v", test)
		require.InDelta(t, test.bus, float64(bus), 1e-9*test.bus, "busbw of %+v", test)
	}
}

func TestCount(t *testing.T) {
	tests := []struct {
		ops      []collectives.Op
		bytes    int64
		ranks    int
		elements int
		actual   int64
		err      string // behind the operation's name
	}{
		{ops: whole, bytes: 4103, ranks: 3, elements: 1025, actual: 4100},
		{ops: whole, bytes: 4, ranks: 1000, elements: 1, actual: 4},
		{ops: whole, bytes: 3, ranks: 2, err: ": a message of 3 bytes is too small for 2 ranks: at least 4 bytes are needed"},
		{ops: whole, bytes: 0, ranks: 1, err: ": a message of 0 bytes is too small for 1 ranks: at least 4 bytes are needed"},
		// 16 MiB / 3 = 5,592,405.3; the 16 bytes below are 5,592,400, which are 1,398,100 elements.
		{ops: blocks, bytes: 16 << 20, ranks: 3, elements: 1_398_100, actual: 16_777_200},
		{ops: blocks, bytes: 16 << 20, ranks: 4, elements: 1 << 20, actual: 16 << 20},
		{ops: blocks, bytes: 127, ranks: 4, elements: 4, actual: 64},
		{ops: blocks, bytes: 64, ranks: 4, elements: 4, actual: 64},
		{ops: blocks, bytes: 31, ranks: 1, elements: 4, actual: 16},
		{ops: blocks, bytes: 63, ranks: 4, err: ": a message of 63 bytes is too small for 4 ranks: at least 64 bytes are needed"},
		{ops: blocks, bytes: 64 << 30, ranks: 5, elements: 3_435_973_836, actual: 68_719_476_720},
	}
	for _, test := range tests {
		for _, op := range test.ops {
			elements, actual, err := op.Count(test.bytes, test.ranks)
			if test.err != "" {
				require.EqualError(t, err, string(op)+test.err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, test.elements, elements, "elements of %s for %+v", op, test)
			require.Equal(t, test.actual, actual, "bytes of %s for %+v", op, test)
			_, again, err := op.Count(actual, test.ranks)
			require.NoError(t, err)
			require.Equal(t, actual, again, "rounding twice is rounding once")
		}
	}
}

// whole are the operations whose message is one, blocks those with a block for each rank.
var (
	whole  = []collectives.Op{collectives.AllReduce, collectives.Broadcast, collectives.Reduce, collectives.SendRecv}
	blocks = []collectives.Op{collectives.AllGather, collectives.ReduceScatter, collectives.AllToAll}
)

func TestParseOp(t *testing.T) {
	tests := map[collectives.Op][]string{
		collectives.AllReduce:     {"allreduce", "all_reduce", "AllReduce"},
		collectives.AllGather:     {"allgather", "all_gather", "AllGather"},
		collectives.ReduceScatter: {"reducescatter", "reduce_scatter", "ReduceScatter"},
		collectives.AllToAll:      {"alltoall", "all_to_all", "AlltoAll"},
		collectives.Broadcast:     {"broadcast", "Broadcast"},
		collectives.Reduce:        {"reduce", "REDUCE"},
		collectives.SendRecv:      {"sendrecv", "send_recv", "SendRecv"},
	}
	require.Len(t, tests, len(collectives.Ops), "every operation has its row")
	for want, names := range tests {
		for _, name := range names {
			op, ok := collectives.ParseOp(name)
			require.True(t, ok, name)
			require.Equal(t, want, op)
		}
	}
	for _, name := range []string{"allreduc", "", "gather", "all-reduce", "alltoallv"} {
		_, ok := collectives.ParseOp(name)
		require.False(t, ok, name)
	}
}
