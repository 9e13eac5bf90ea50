package gate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
	"slurm-preflight/internal/slurm"
)

// request is what an option asks for on a site without configuration.
func request(t *testing.T, option string, site ...config.Layer) Request {
	t.Helper()
	spec, err := collectives.ParseSpec(option)
	require.NoError(t, err)
	cfg, problems, err := config.Load(site, spec.Layer())
	require.NoError(t, err)
	require.Empty(t, problems)
	return Request{JobID: "12", SpecText: option, Spec: spec, Config: cfg, Asked: true, Home: "/opt/preflight"}
}

func TestExitCodes(t *testing.T) {
	run := config.Layer{{Key: "gate.on_error", Value: "run", Source: "test"}}
	fail := config.Layer{{Key: "gate.on_error", Value: "fail", Source: "test"}}
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(Cancelled(exitcode.Interrupted))
	tests := []struct {
		verdict report.Verdict
		option  string
		site    []config.Layer
		unasked bool
		ctx     context.Context //nolint:containedctx // one of the inputs
		exit    int
	}{
		{verdict: report.Pass, option: "allreduce", exit: exitcode.Fit},
		{verdict: report.Unjudged, option: "allreduce", exit: exitcode.Fit},
		{verdict: report.Untestable, option: "allreduce", exit: exitcode.Fit},
		{verdict: report.Fail, option: "allreduce", exit: exitcode.Unfit},
		{verdict: report.Fail, option: "allreduce,on-fail=warn", exit: exitcode.Fit},
		{verdict: report.Error, option: "allreduce", exit: exitcode.Unavailable},
		{verdict: report.Error, option: "allreduce,on-fail=warn", exit: exitcode.Unavailable},
		{verdict: report.Error, option: "allreduce", site: []config.Layer{run}, exit: exitcode.Fit},
		{verdict: report.Error, option: "allreduce", site: []config.Layer{run}, unasked: true, exit: exitcode.Fit},
		{verdict: report.Error, option: "allreduce", site: []config.Layer{fail}, unasked: true, exit: exitcode.Unavailable},
		{verdict: report.Error, option: "allreduce", unasked: true, exit: exitcode.Fit},
		{verdict: report.Fail, option: "allreduce", unasked: true, exit: exitcode.Unfit},
		{verdict: report.Cancelled, option: "allreduce,on-fail=warn", exit: exitcode.Terminated},
		{verdict: report.Cancelled, option: "allreduce", ctx: interrupted, exit: exitcode.Interrupted},
	}
	for _, test := range tests {
		gate := report.Gate{Verdict: test.verdict}
		if test.ctx == nil {
			test.ctx = t.Context()
		}
		r := request(t, test.option, test.site...)
		r.Asked = !test.unasked
		r.settle(test.ctx, &gate)
		require.Equal(t, test.exit, gate.Exit, "%s with %s", test.verdict, test.option)
	}
}

func TestGPUsAreNeverPassedOver(t *testing.T) {
	gpus := slurm.Job{GPUs: map[string]int{"n1": 8}}
	_, err := request(t, "allreduce").backend(gpus)
	require.ErrorContains(t, err, "backend=host")
	backend, err := request(t, "allreduce,backend=host").backend(gpus)
	require.NoError(t, err)
	require.Equal(t, "host", backend)
	backend, err = request(t, "allreduce").backend(slurm.Job{})
	require.NoError(t, err)
	require.Equal(t, "host", backend)
}

func TestWorkerCommand(t *testing.T) {
	require.Equal(t, []string{
		"/opt/preflight/bin/preflight-worker", "--nonce=n", "--backend=host", "--library=/opt/preflight/lib/libhostccl.so",
	}, request(t, "allreduce").worker("n"))
	site := config.Layer{
		{Key: "gate.worker", Value: "/a/worker"}, {Key: "gate.host_lib", Value: "/b/lib.so"}, {Key: "gate.interface", Value: "eth0"},
	}
	require.Equal(t, []string{"/a/worker", "--nonce=n", "--backend=host", "--library=/b/lib.so", "--interface=eth0"},
		request(t, "allreduce", site).worker("n"))
}

func TestFloorNamesItsSource(t *testing.T) {
	floor, source := request(t, "allreduce").floor(collectives.AllReduce)
	require.Zero(t, floor)
	require.Empty(t, source)
	floor, source = request(t, "allreduce,min=400").floor(collectives.AllReduce)
	require.InDelta(t, 400, float64(floor), 0)
	require.Equal(t, collectives.OptionSource, source)
}

func TestUnjudgedNamesWhatHasNoFloor(t *testing.T) {
	result := func(op string, floor float64, swept bool) report.Result {
		return report.Result{Op: op, FloorGBps: floor, Swept: swept}
	}
	const how = ": gate.min.<collective>= or min= would set one"
	require.Equal(t, "no floor is set"+how, unjudged([]report.Result{result("reduce", 0, true), result("reduce", 0, false)}))
	require.Equal(t, "no floor is set for reduce, alltoall"+how, unjudged([]report.Result{
		result("allreduce", 0, true), result("allreduce", 1, false), result("reduce", 0, false), result("alltoall", 0, false),
	}))
}

func TestJobIDIsANumber(t *testing.T) {
	r := request(t, "allreduce")
	r.JobID = "12; true"
	gate, measured := r.Run(t.Context())
	require.True(t, measured)
	require.Equal(t, report.Error, gate.Verdict)
	require.Equal(t, exitcode.Unavailable, gate.Exit)
	require.Contains(t, gate.Reason, "is not a job id")
}

// A question to Slurm that was cut short is no error of Slurm's.
func TestCancelledWhileSlurmIsAsked(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Cancelled(exitcode.Interrupted))
	gate, measured := request(t, "allreduce").Run(ctx)
	require.True(t, measured)
	require.Equal(t, report.Cancelled, gate.Verdict)
	require.Equal(t, exitcode.Interrupted, gate.Exit)
}
