package conductor_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/conductor"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

const nonce = "5c0ffee5"

// run is a gate over a fake cluster, in time that passes only while all wait.
type run struct {
	machines  []machine
	ops       []collectives.Op // allreduce unless set
	sizes     []int64          // 1 MiB unless set
	timeout   time.Duration
	suspended func(context.Context) bool
	lost      map[string]string
	words     string

	step  *cluster
	gate  report.Gate
	took  time.Duration
	began time.Time
}

// conduct runs a gate over the machines with a floor of 1 GB/s.
func (r *run) conduct(ctx context.Context) {
	plan := conductor.Plan{
		Ops: r.ops, Sizes: r.sizes, Warmup: 2, Iters: 20, Time: 3 * time.Second,
		Timeout: r.timeout, Suspended: r.suspended,
		Floor: func(collectives.Op) (collectives.GBps, string) { return 1, "test" },
	}
	for _, m := range r.machines {
		plan.Nodes = append(plan.Nodes, m.name)
	}
	r.began = time.Now()
	conductor.Run(ctx, plan, &r.gate, nonce, slog.New(slog.DiscardHandler), func() (conductor.Step, error) {
		r.step = launch(nonce, r.machines...)
		r.step.lost, r.step.words = r.lost, r.words
		return r.step, nil
	})
	r.took = time.Since(r.began)
}

func conduct(t *testing.T, r *run) report.Gate {
	t.Helper()
	if r.timeout == 0 {
		r.timeout = 90 * time.Second
	}
	if r.ops == nil {
		r.ops = []collectives.Op{collectives.AllReduce}
	}
	if r.sizes == nil {
		r.sizes = []int64{1 << 20}
	}
	synctest.Test(t, func(t *testing.T) { r.conduct(t.Context()) })
	return r.gate
}

// healthy is a node that moves 1 MiB around in 1 ms: 1.57 GB/s over four nodes.
func healthy(name string) machine { return machine{name: name, took: time.Millisecond} }

func four(change func(n3 *machine)) []machine {
	machines := []machine{healthy("n1"), healthy("n2"), healthy("n3"), healthy("n4")}
	change(&machines[2])
	return machines
}

// others makes three victims of n3's fault.
func others(victim func(m *machine), fault func(n3 *machine)) []machine {
	machines := four(fault)
	for _, i := range []int{0, 1, 3} {
		victim(&machines[i])
	}
	return machines
}

func suspects(gate report.Gate) []string {
	var found []string
	for _, suspect := range gate.Suspects {
		found = append(found, suspect.Node+" "+suspect.Phase)
	}
	return found
}

func TestVerdicts(t *testing.T) {
	waiting := func(m *machine) { m.waits = protocol.PhaseRun }
	complaining := func(m *machine) { m.breaks = protocol.PhaseRun }
	tests := map[string]struct {
		machines []machine
		verdict  report.Verdict
		suspect  string // with the phase
		reason   string
		within   time.Duration
	}{
		"healthy":         {four(func(*machine) {}), report.Pass, "", "", time.Second},
		"slow":            {four(func(n3 *machine) { n3.took = 2 * time.Millisecond }), report.Fail, "", "", time.Second},
		"wrong results":   {four(func(n3 *machine) { n3.wrong, n3.wrongs = 1, []int{0} }), report.Fail, "n3 run", "", time.Second},
		"library missing": {four(func(n3 *machine) { n3.refuses = "no such file" }), report.Error, "", "n3: no such file", 5 * time.Second},
		"other version":   {four(func(n3 *machine) { n3.version = "2" }), report.Error, "", "n3 has fake 2 (/fake.so), but n1 has fake", time.Second},
		"never came up":   {four(func(n3 *machine) { n3.dies = protocol.PhaseLaunch }), report.Fail, "n3 launch", "n3: it did not answer", 65 * time.Second},

		"broken in init":   {four(func(n3 *machine) { n3.breaks = protocol.PhaseInit }), report.Fail, "n3 init", "the cable is out", 5 * time.Second},
		"broken in run":    {four(func(n3 *machine) { n3.breaks = protocol.PhaseRun }), report.Fail, "n3 warm-up", "the cable is out", 5 * time.Second},
		"gone while alone": {four(func(n3 *machine) { n3.dies = protocol.PhaseRun }), report.Fail, "n3 warm-up", "n3: it did not answer", 15 * time.Second},
		"gone in init": {
			others(func(m *machine) { m.waits = protocol.PhaseInit }, func(n3 *machine) { n3.dies = protocol.PhaseInit }),
			report.Fail, "n3 init", "n3: it did not answer", 45 * time.Second,
		},
		"gone, and its neighbours complain": {
			others(complaining, func(n3 *machine) { n3.dies = protocol.PhaseRun }), report.Fail, "n3 warm-up", "n3: it did not answer", 5 * time.Second,
		},
		"a rank ended, and its neighbours complain": {
			others(complaining, func(n3 *machine) { n3.ends = protocol.PhaseRun }), report.Fail, "n3 warm-up", "n3: the process ended", 5 * time.Second,
		},
		"a rank is stopped, and all wait for it": {
			others(waiting, func(n3 *machine) { n3.stuck = protocol.PhaseRun }),
			report.Fail, "n3 warm-up", "n3: rank 0 on this node does not react: its process is stopped", 75 * time.Second,
		},
		"a straggler": {
			four(func(n3 *machine) { n3.waits = protocol.PhaseRun }), report.Fail, "n3 warm-up", "n3: it was not done long after", 15 * time.Second,
		},
		"gone after it has answered, and a neighbour complains": {
			[]machine{
				healthy("n1"),
				{name: "n2", breaks: protocol.PhaseInit, late: 2 * time.Second},
				{name: "n3", fades: protocol.PhaseInit},
				healthy("n4"),
			},
			report.Fail, "n3 init", "n3: it did not answer", 10 * time.Second,
		},
		"all hang": {others(waiting, waiting), report.Fail, "", "not finished in time by any node", 75 * time.Second},
		"most complain": {
			others(complaining, waiting), report.Fail, "", " says: the cable is out", 5 * time.Second,
		},
		"we are cut off": {
			others(func(m *machine) { m.dies = protocol.PhaseRun }, waiting), report.Fail, "", "n1, n2, n4 did not answer", 75 * time.Second,
		},
		"the step ends": {
			others(func(m *machine) { m.dies = protocol.PhaseRun }, func(n3 *machine) { n3.dies = protocol.PhaseRun }),
			report.Error, "", "ended early, while warming up the collective: the launcher ended", time.Second,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &run{machines: test.machines}
			gate := conduct(t, r)
			require.Equal(t, test.verdict, gate.Verdict, gate.Reason)
			require.Contains(t, gate.Reason, test.reason)
			require.Empty(t, gate.Notes)
			require.Less(t, r.took, test.within)
			if test.suspect == "" {
				require.Empty(t, suspects(gate))
				return
			}
			require.Equal(t, []string{test.suspect}, suspects(gate))
		})
	}
}

func TestNodesThatTheLauncherHasLostAreNamedAtOnce(t *testing.T) {
	r := &run{machines: four(func(n3 *machine) { n3.dies = protocol.PhaseLaunch }), lost: map[string]string{"n3": "its task ended: Killed"}}
	gate := conduct(t, r)
	require.Equal(t, report.Fail, gate.Verdict)
	require.Equal(t, []string{"n3 launch"}, suspects(gate))
	require.Contains(t, gate.Reason, "its task ended: Killed")
	require.Less(t, r.took, 5*time.Second)
}

func TestLauncherThatLostAllBlamesNobody(t *testing.T) {
	r := &run{machines: []machine{{name: "n1", dies: protocol.PhaseLaunch}, {name: "n2", dies: protocol.PhaseLaunch}}}
	r.words, r.lost = "execve(): No such file", map[string]string{"n1": "its task ended", "n2": "its task ended"}
	gate := conduct(t, r)
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "execve(): No such file")
	require.Empty(t, suspects(gate))
}

func TestInterruptedMeasurementIsRepeated(t *testing.T) {
	gate := conduct(t, &run{machines: four(func(n3 *machine) { n3.paused = 2 })})
	require.Equal(t, report.Pass, gate.Verdict, gate.Reason)
	require.Len(t, gate.Notes, 2)
	require.Contains(t, gate.Notes[0], "the warm-up of allreduce was done again, because n3 stood still for 1m0s")
	require.Equal(t, 20, gate.Results[0].Iters, "the estimate is not that of the pause")

	gate = conduct(t, &run{machines: four(func(n3 *machine) { n3.paused = 100 })})
	require.Equal(t, report.Error, gate.Verdict)
	require.Empty(t, gate.Results, "a pause is not judged")
	require.Contains(t, gate.Reason, "interrupted 3 times")
}

func TestSuspendedJobIsNotLate(t *testing.T) {
	asked := 0
	r := &run{
		machines:  four(func(n3 *machine) { n3.dies = protocol.PhaseLaunch }),
		suspended: func(context.Context) bool { asked++; return asked == 1 },
	}
	gate := conduct(t, r)
	require.Equal(t, []string{"n3 launch"}, suspects(gate))
	require.Greater(t, r.took, 120*time.Second, "it waits for all its time again")
	require.Len(t, gate.Notes, 1)
	require.Contains(t, gate.Notes[0], "Slurm suspended the job")
}

func TestStepIsEndedByItsName(t *testing.T) {
	r := &run{machines: four(func(*machine) {})}
	conduct(t, r)
	require.Equal(t, "7.0", r.step.id)
}

func TestOneRankIsUntestable(t *testing.T) {
	gate := conduct(t, &run{machines: []machine{healthy("n1")}})
	require.Equal(t, report.Untestable, gate.Verdict, gate.Reason)
}

func TestCancelledGateEndsItsStep(t *testing.T) {
	wait := func(m *machine) { m.waits = protocol.PhaseInit }
	r := &run{machines: others(wait, wait), timeout: time.Minute}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		r.conduct(ctx)
	})
	require.Equal(t, report.Cancelled, r.gate.Verdict)
	require.Empty(t, r.gate.Notes)
	require.Less(t, r.took, 5*time.Second)
}

func TestLaunchThatFailsIsAnError(t *testing.T) {
	var gate report.Gate
	conductor.Run(t.Context(), conductor.Plan{Nodes: []string{"n1"}, Timeout: time.Second}, &gate, nonce, slog.New(slog.DiscardHandler),
		func() (conductor.Step, error) { return nil, errors.New("srun was not found") })
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "srun was not found")
}

func TestStepThatEndsAtOnceTellsWhy(t *testing.T) {
	gate := conduct(t, &run{
		machines: []machine{{name: "n1", dies: protocol.PhaseLaunch}, {name: "n2", dies: protocol.PhaseLaunch}},
		words:    "execve(): No such file",
	})
	require.Equal(t, report.Error, gate.Verdict)
	require.Contains(t, gate.Reason, "execve(): No such file")
}
