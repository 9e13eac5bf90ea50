package conductor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

func TestWrongElementsNameTheirRanks(t *testing.T) {
	gate := conduct(t, &run{machines: four(func(n3 *machine) { n3.ranks, n3.wrong, n3.wrongs = 4, 1, []int{0, 3} })})
	require.Equal(t, report.Fail, gate.Verdict)
	require.False(t, gate.Results[0].Correct)
	// One element in the warm-up and one in the timed run; n3 has the ranks 2 to 5.
	require.Equal(t, []report.Suspect{
		{Node: "n3", Device: "rank 2", Phase: "run", Why: "it received 2 elements of allreduce wrong"},
		{Node: "n3", Device: "rank 5", Phase: "run", Why: "it received 2 elements of allreduce wrong"},
	}, gate.Suspects)
	require.Empty(t, gate.Notes)
}

func TestNodeNamesAsManyRanksAsItHasGPUs(t *testing.T) {
	machines := four(func(n3 *machine) {
		n3.ranks, n3.wrong = protocol.MaxWrongRanks+4, 10
		for rank := range n3.ranks {
			n3.wrongs = append(n3.wrongs, rank)
		}
	})
	gate := conduct(t, &run{machines: machines})
	require.Len(t, gate.Suspects, protocol.MaxWrongRanks+1)
	require.Equal(t, report.Suspect{Node: "n3", Phase: "run", Why: "it received 80 elements of allreduce wrong"},
		gate.Suspects[protocol.MaxWrongRanks], "the ranks that have no room")
}

func TestNobodyIsBlamedWhereAllReceiveWrongElements(t *testing.T) {
	machines := four(func(*machine) {})
	for i := range machines {
		machines[i].wrong, machines[i].wrongs = 1, []int{0}
	}
	gate := conduct(t, &run{machines: machines})
	require.Equal(t, report.Fail, gate.Verdict)
	require.Empty(t, gate.Suspects)
	require.Contains(t, gate.Notes[0], "all 4 ranks received wrong elements in allreduce")
}

func TestResultIsThatOfTheSlowestRank(t *testing.T) {
	gate := conduct(t, &run{machines: four(func(n3 *machine) { n3.took = 2 * time.Millisecond })})
	require.Len(t, gate.Results, 1)
	result := gate.Results[0]
	require.InDelta(t, 1.5*float64(1<<20)/2e-3/1e9, result.BusbwGBps, 1e-9)
	require.Len(t, result.NodeBusbwGBps, 4)
	require.Less(t, result.NodeBusbwGBps[2], result.NodeBusbwGBps[0])
	require.Equal(t, 4, result.Ranks)
	require.Equal(t, 20, result.Iters)
	require.True(t, result.Correct)
}

func TestFewerIterationsWhereTheyAreSlow(t *testing.T) {
	gate := conduct(t, &run{machines: four(func(n3 *machine) { n3.took = 400 * time.Millisecond })})
	require.Equal(t, 7, gate.Results[0].Iters)
	gate = conduct(t, &run{machines: four(func(n3 *machine) { n3.took = time.Minute })})
	require.Equal(t, 3, gate.Results[0].Iters)
}

func TestLargestSizeOfASweepIsJudged(t *testing.T) {
	sizes := []int64{1 << 18, 1 << 19, 1<<20 + 4}
	gate := conduct(t, &run{ops: []collectives.Op{collectives.AllGather, collectives.AllReduce}, sizes: sizes, timeout: 30 * time.Second, machines: four(func(*machine) {})})
	require.Len(t, gate.Results, 6)
	for i, result := range gate.Results {
		require.Equal(t, []string{"allgather", "allreduce"}[i/3], result.Op)
		require.Equal(t, []int64{1 << 18, 1 << 19, 1 << 20, 1 << 18, 1 << 19, 1<<20 + 4}[i], result.Bytes, "as the operation rounds it")
		require.Equal(t, i%3 < 2, result.Swept)
		if result.Swept {
			require.Zero(t, result.FloorGBps)
			require.Less(t, result.BusbwGBps, 1.0, "would fail if it were judged")
			continue
		}
		require.InDelta(t, 1, result.FloorGBps, 0)
	}
	require.Equal(t, report.Fail, gate.Verdict, "three quarters of a mebibyte in a millisecond are too few for an all-gather")
	require.Equal(t, "warm-up of allgather of 256K", gate.Phases[2].Name)

	gate = conduct(t, &run{ops: []collectives.Op{collectives.AllReduce}, sizes: sizes, timeout: 30 * time.Second, machines: four(func(*machine) {})})
	require.Equal(t, report.Pass, gate.Verdict)
	wrong := four(func(n3 *machine) { n3.wrong, n3.wrongs = 1, []int{0} })
	gate = conduct(t, &run{ops: []collectives.Op{collectives.AllReduce}, sizes: sizes, timeout: 30 * time.Second, machines: wrong})
	require.Equal(t, report.Fail, gate.Verdict)
	require.Equal(t, "it received 2 elements of allreduce of 256K wrong", gate.Suspects[0].Why)
}

func TestSizesShareTheTime(t *testing.T) {
	sizes := make([]int64, 30)
	for i := range sizes {
		sizes[i] = 1 << 20
	}
	gate := conduct(t, &run{ops: []collectives.Op{collectives.AllReduce}, sizes: sizes, timeout: 10 * time.Second, machines: four(func(n3 *machine) { n3.took = 40 * time.Millisecond })})
	require.Equal(t, 3, gate.Results[0].Iters, "a thirtieth of six seconds, half of it for the warm-up")
	require.Equal(t, 20, gate.Results[29].Iters)
}

func TestMessageTooSmallIsFoundBeforeAnyIsMeasured(t *testing.T) {
	gate := conduct(t, &run{ops: []collectives.Op{collectives.AllReduce, collectives.AllToAll}, sizes: []int64{32, 1 << 20}, timeout: 30 * time.Second, machines: four(func(*machine) {})})
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "alltoall: a message of 32 bytes is too small for 4 ranks: at least 64 bytes are needed")
	require.Empty(t, gate.Results)
}
