package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/conductor"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

const nonce = "5c0ffee5"

// conduct runs a gate over the machines with a floor of 1 GB/s.
func conduct(ctx context.Context, timeout time.Duration, machines ...machine) report.Gate {
	return measure(ctx, timeout, []collectives.Op{collectives.AllReduce}, []int64{1 << 20}, machines...)
}

func measure(ctx context.Context, timeout time.Duration, ops []collectives.Op, sizes []int64, machines ...machine) report.Gate {
	plan := conductor.Plan{
		Ops: ops, Sizes: sizes, Warmup: 2, Iters: 20, Time: 3 * time.Second, Timeout: timeout,
		Floor: func(collectives.Op) (collectives.GBps, string) { return 1, "test" },
	}
	for _, m := range machines {
		plan.Nodes = append(plan.Nodes, m.name)
	}
	var gate report.Gate
	conductor.Run(ctx, plan, &gate, nonce, slog.New(slog.DiscardHandler), func() (conductor.Step, error) {
		return launch(nonce, machines...), nil
	})
	return gate
}

// healthy is a node that moves 1 MiB around in 1 ms: 1.57 GB/s over four nodes.
func healthy(name string) machine { return machine{name: name, took: time.Millisecond} }

func four(change func(n3 *machine)) []machine {
	machines := []machine{healthy("n1"), healthy("n2"), healthy("n3"), healthy("n4")}
	change(&machines[2])
	return machines
}

func TestVerdicts(t *testing.T) {
	tests := map[string]struct {
		fault   func(n3 *machine)
		verdict report.Verdict
		suspect string // with the phase
		reason  string
	}{
		"healthy":            {fault: func(*machine) {}, verdict: report.Pass},
		"slow":               {fault: func(n3 *machine) { n3.took = 2 * time.Millisecond }, verdict: report.Fail},
		"wrong results":      {fault: func(n3 *machine) { n3.wrong, n3.wrongs = 1, []int{0} }, verdict: report.Fail, suspect: "n3 run"},
		"library missing":    {fault: func(n3 *machine) { n3.refuses = "no such file" }, verdict: report.Error, reason: "n3: no such file"},
		"other version":      {fault: func(n3 *machine) { n3.version = "2" }, verdict: report.Error, reason: "n3 has fake 2 (/fake.so), but n1 has fake"},
		"broken in init":     {fault: func(n3 *machine) { n3.breaks = protocol.PhaseInit }, verdict: report.Fail, suspect: "n3 init", reason: "the cable is out"},
		"broken in run":      {fault: func(n3 *machine) { n3.breaks = protocol.PhaseRun }, verdict: report.Fail, suspect: "n3 run", reason: "the cable is out"},
		"gone while running": {fault: func(n3 *machine) { n3.dies = protocol.PhaseRun }, verdict: report.Fail, suspect: "n3 run", reason: "n3 did not answer"},
		"gone while joining": {fault: func(n3 *machine) { n3.dies = protocol.PhaseInit }, verdict: report.Fail, suspect: "n3 init", reason: "n3 did not answer"},
		"never came up":      {fault: func(n3 *machine) { n3.dies = protocol.PhaseLaunch }, verdict: report.Fail, suspect: "n3 launch", reason: "n3 did not answer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := conduct(t.Context(), 7*time.Second, four(test.fault)...)
			require.Equal(t, test.verdict, gate.Verdict, gate.Reason)
			require.Contains(t, gate.Reason, test.reason)
			require.Empty(t, gate.Notes)
			var suspects []string
			for _, suspect := range gate.Suspects {
				suspects = append(suspects, suspect.Node+" "+suspect.Phase)
			}
			if test.suspect == "" {
				require.Empty(t, suspects)
				return
			}
			require.Equal(t, []string{test.suspect}, suspects)
		})
	}
}

func TestWrongElementsNameTheirRanks(t *testing.T) {
	gate := conduct(t.Context(), 30*time.Second, four(func(n3 *machine) { n3.ranks, n3.wrong, n3.wrongs = 4, 1, []int{0, 3} })...)
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
	gate := conduct(t.Context(), 30*time.Second, machines...)
	require.Len(t, gate.Suspects, protocol.MaxWrongRanks+1)
	require.Equal(t, report.Suspect{Node: "n3", Phase: "run", Why: "it received 80 elements of allreduce wrong"},
		gate.Suspects[protocol.MaxWrongRanks], "the ranks that have no room")
}

func TestNobodyIsBlamedWhereAllReceiveWrongElements(t *testing.T) {
	machines := four(func(*machine) {})
	for i := range machines {
		machines[i].wrong, machines[i].wrongs = 1, []int{0}
	}
	gate := conduct(t.Context(), 30*time.Second, machines...)
	require.Equal(t, report.Fail, gate.Verdict)
	require.Empty(t, gate.Suspects)
	require.Contains(t, gate.Notes[0], "all 4 ranks received wrong elements in allreduce")
}

func TestResultIsThatOfTheSlowestRank(t *testing.T) {
	gate := conduct(t.Context(), 30*time.Second, four(func(n3 *machine) { n3.took = 2 * time.Millisecond })...)
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
	gate := conduct(t.Context(), time.Minute, four(func(n3 *machine) { n3.took = 400 * time.Millisecond })...)
	require.Equal(t, 7, gate.Results[0].Iters)
	gate = conduct(t.Context(), time.Minute, four(func(n3 *machine) { n3.took = time.Minute })...)
	require.Equal(t, 3, gate.Results[0].Iters)
}

func TestLargestSizeOfASweepIsJudged(t *testing.T) {
	sizes := []int64{1 << 18, 1 << 19, 1<<20 + 4}
	gate := measure(t.Context(), 30*time.Second, []collectives.Op{collectives.AllGather, collectives.AllReduce}, sizes,
		four(func(*machine) {})...)
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

	gate = measure(t.Context(), 30*time.Second, []collectives.Op{collectives.AllReduce}, sizes, four(func(*machine) {})...)
	require.Equal(t, report.Pass, gate.Verdict)
	wrong := four(func(n3 *machine) { n3.wrong, n3.wrongs = 1, []int{0} })
	gate = measure(t.Context(), 30*time.Second, []collectives.Op{collectives.AllReduce}, sizes, wrong...)
	require.Equal(t, report.Fail, gate.Verdict)
	require.Equal(t, "it received 2 elements of allreduce of 256K wrong", gate.Suspects[0].Why)
}

func TestSizesShareTheTime(t *testing.T) {
	sizes := make([]int64, 30)
	for i := range sizes {
		sizes[i] = 1 << 20
	}
	gate := measure(t.Context(), 10*time.Second, []collectives.Op{collectives.AllReduce}, sizes,
		four(func(n3 *machine) { n3.took = 40 * time.Millisecond })...)
	require.Equal(t, 3, gate.Results[0].Iters, "a thirtieth of six seconds, half of it for the warm-up")
	require.Equal(t, 20, gate.Results[29].Iters)
}

func TestMessageTooSmallIsFoundBeforeAnyIsMeasured(t *testing.T) {
	gate := measure(t.Context(), 30*time.Second, []collectives.Op{collectives.AllReduce, collectives.AllToAll}, []int64{32, 1 << 20},
		four(func(*machine) {})...)
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "alltoall: a message of 32 bytes is too small for 4 ranks: at least 64 bytes are needed")
	require.Empty(t, gate.Results)
}

func TestOneRankIsUntestable(t *testing.T) {
	gate := conduct(t.Context(), 30*time.Second, healthy("n1"))
	require.Equal(t, report.Untestable, gate.Verdict, gate.Reason)
}

func TestNobodyIsBlamedWhereAllHang(t *testing.T) {
	machines := four(func(*machine) {})
	for i := range machines {
		machines[i].breaks = hangs
	}
	gate := conduct(t.Context(), 5*time.Second, machines...)
	require.Equal(t, report.Fail, gate.Verdict)
	require.Empty(t, gate.Suspects)
}

func TestCancelledGateEndsItsStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	machines := four(func(*machine) {})
	for i := range machines {
		machines[i].breaks = hangs
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	gate := conduct(ctx, time.Minute, machines...)
	require.Equal(t, report.Cancelled, gate.Verdict)
	require.Empty(t, gate.Notes)
}

func TestLaunchThatFailsIsAnError(t *testing.T) {
	var gate report.Gate
	conductor.Run(t.Context(), conductor.Plan{Nodes: []string{"n1"}, Timeout: time.Second}, &gate, nonce, slog.New(slog.DiscardHandler),
		func() (conductor.Step, error) { return nil, errors.New("srun was not found") })
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "srun was not found")
}

func TestStepThatEndsAtOnceTellsWhy(t *testing.T) {
	plan := conductor.Plan{Nodes: []string{"n1", "n2"}, Timeout: 30 * time.Second}
	var gate report.Gate
	conductor.Run(t.Context(), plan, &gate, nonce, slog.New(slog.DiscardHandler), func() (conductor.Step, error) {
		step := launch(nonce, machine{name: "n1", dies: protocol.PhaseLaunch}, machine{name: "n2", dies: protocol.PhaseLaunch})
		step.words = "execve(): No such file"
		return step, nil
	})
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "execve(): No such file")
}
