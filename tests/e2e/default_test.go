package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	siteGates = "gate.default=allreduce"
	// easy is a floor that a busy machine reaches too, and 200 Mbit/s does not.
	easy = "gate.min.allreduce=0.04"
	note = "preflight: note: this site measures jobs that do not ask for it (gate.default at /etc/slurm/plugstack.conf:1); --nccl-validate=off opts out\n"
)

func TestDefaultGatesWhoDidNotAsk(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", easy)
	_, exit, output := l.submit(userCode+"; srun hostname", "-N4").await()
	require.Equal(t, "7:0", exit, output)
	require.Contains(t, output, note)
	require.Contains(t, output, "PASS  allreduce")

	l.must("link", "n3", "200mbit")
	state, exit, output := l.submit(userCode, "-N4").await()
	require.Equal(t, "FAILED", state)
	require.Equal(t, "75:0", exit)
	require.Contains(t, output, "FAIL  allreduce")
	require.NotContains(t, output, "user code")

	r := l.run("srun", "-N4", "echo", "user code")
	require.Equal(t, 75, r.code)
	require.Empty(t, r.out)
	require.Contains(t, r.err, note)

	_, exit, output = l.submit(userCode, "-N4", "--nccl-validate=off").await()
	require.Equal(t, "7:0", exit)
	require.Equal(t, "user code ran\n", output)
	l.idle(5 * time.Second)
}

// A script's steps belong to a job that was gated, whatever stands in their environment.
func TestDefaultLeavesStepsAlone(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", easy)
	_, exit, output := l.submit("srun hostname; env -i PATH=$PATH SLURM_JOB_ID=$SLURM_JOB_ID srun -N4 hostname; srun -N1 -n1 hostname", "-N4").await()
	require.Equal(t, "0:0", exit, output)
	require.Equal(t, 1, strings.Count(output, "GB/s busbw"), output)
	require.NotContains(t, output, "Measured before")
	require.Equal(t, 2, strings.Count(output, "n4\n"))
}

func TestDefaultInSallocMeasuresOnceAndThenIsSilent(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", easy)
	r := l.run("salloc", "-N4", "bash", "-c", "srun echo one; srun echo two")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 1, strings.Count(r.err, "preflight: PASS"), r.err)
	require.NotContains(t, r.err, "Measured before")
	require.Equal(t, 4, strings.Count(r.out, "two\n"))
}

func TestDefaultCountsNodesAndPartitions(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", easy, "--set", "gate.default.when.min_nodes=3", "--conf", "PartitionName=other Nodes=ALL")
	gated := func(flags ...string) bool {
		_, exit, output := l.submit("echo user code", flags...).await()
		require.Equal(t, "0:0", exit, output)
		require.True(t, strings.HasSuffix(output, "user code\n"))
		return output != "user code\n"
	}
	require.False(t, gated("-N2"))
	require.True(t, gated("-N3"))
	l.must("set", "gate.default.when.partitions=other,debug", "gate.default.when.min_nodes=")
	require.False(t, gated("-N2"))
	require.True(t, gated("-N2", "--partition=other"))
	require.False(t, gated("-N1", "--partition=other"), "one rank can measure nothing")
}

// client is a slurm.conf that knows no plugin, as on a host
// that somebody else administers; jobs from there arrive without our hooks.
func (l lab) client() string {
	l.t.Helper()
	r := l.run("cat", "/etc/slurm/slurm.conf")
	require.Zero(l.t, r.code, r.err)
	conf := filepath.Join(l.dir(), "slurm.conf")
	require.NoError(l.t, os.WriteFile(conf, []byte(r.out+"PlugStackConfig=/dev/null\n"), 0o644))
	return conf
}

func TestForeignClientIsGated(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", "gate.enforce=yes")
	l.must("link", "n3", "200mbit")
	conf := l.client()
	const forged = "SLURM_SPANK__SLURM_SPANK_OPTION_preflight_nccl_validate"
	for variable, code := range map[string]string{
		"A=": "75:0", forged + "=off": "75:0", forged + "=allreduce,on-fail=warn,min=0.001": "75:0",
		forged + "=a\nb": "64:0", forged + "=" + strings.Repeat("x", 2000): "64:0",
	} {
		dir := l.dir()
		r := l.run("env", "SLURM_CONF="+conf, variable, "sbatch", "--parsable", "-N4", "--output="+dir+"/out", "--wrap", "echo user code")
		require.Zero(t, r.code, r.err)
		_, exit, output := job{lab: l, id: strings.TrimSpace(r.out), output: dir + "/out"}.await()
		require.Equal(t, code, exit, "%q: %s", variable, output)
		require.NotContains(t, output, "user code")
	}
	r := l.run("env", "SLURM_CONF="+conf, "sbatch", option, "--wrap", "true")
	require.NotZero(t, r.code)
	require.Contains(t, r.err, "unrecognized option", "the client indeed has no plugin")
}

func TestEnforcedGateCannotBeWeakened(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", "gate.enforce=yes")
	for _, command := range [][]string{{"sbatch", "--wrap", "true"}, {"srun", "true"}, {"salloc", "true"}} {
		r := l.run(append([]string{command[0], "--nccl-validate=off"}, command[1:]...)...)
		require.NotZero(t, r.code)
		require.Contains(t, r.err, `"off" is refused: this site enforces its gate (gate.enforce at plugstack.conf arguments)`)
	}
	require.Empty(t, l.run("squeue", "--noheader", "--states=all").out, "nothing was queued")

	_, exit, output := l.submit(userCode, "-N4", option+",min=99").await()
	require.Equal(t, "75:0", exit, "a user may ask for more: %s", output)
	require.Contains(t, output, "floor 99.00 GB/s")

	l.must("link", "n3", "200mbit")
	_, exit, output = l.submit(userCode, "-N4", option+",min=0.001,on-fail=warn,size=1M").await()
	require.Equal(t, "75:0", exit, output)
	for _, held := range []string{"gate.min.allreduce=0.08", "gate.on_fail=fail", "gate.size=16M"} {
		require.Contains(t, output, held+" holds: this site enforces its gate")
	}
}

// A job that asked for nothing is not stopped because the site's gate is broken.
func TestDefaultThatCannotMeasure(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", "gate.worker=/nope")
	j := l.submit(userCode, "-N2")
	_, exit, output := j.await()
	require.Equal(t, "7:0", exit, output)
	require.Contains(t, output, "ERROR")
	require.Contains(t, output, "Job "+j.id+" runs all the same.")
	r := l.run("srun", "-N2", "echo", "user code")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "srun runs all the same.")
	_, exit, _ = l.submit(userCode, "-N2", option).await()
	require.Equal(t, "69:0", exit, "whoever asks is promised a gate")

	l.must("set", "gate.on_error=fail")
	_, exit, _ = l.submit(userCode, "-N2").await()
	require.Equal(t, "69:0", exit)
}

func TestMistypedKeyStopsNothing(t *testing.T) {
	l := startLab(t, "--set", siteGates, "--set", easy, "--set", "gate.sise=1M", "--set", "gate.iters=many")
	const (
		unknown = `/etc/slurm/plugstack.conf:1: "gate.sise=1M": unknown key, did you mean gate.size?`
		value   = `/etc/slurm/plugstack.conf:1: "gate.iters=many": expected a whole number from 1 to 10000`
	)
	for _, flag := range []string{option, "--comment=nothing"} {
		_, exit, output := l.submit(userCode, "-N2", flag).await()
		require.Equal(t, "7:0", exit, output)
		require.Contains(t, output, "preflight: note: ignored: "+unknown)
		require.Contains(t, output, "preflight: note: ignored: "+value)
	}
	r := l.run("srun", "-N2", option, "echo", "user code")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, unknown)
	r = l.run("preflight", "config")
	require.Equal(t, 78, r.code, r.err)
	require.Contains(t, r.out, unknown)
	require.Contains(t, r.out, value)
	l.idle(5 * time.Second)
}
