package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

const (
	option   = "--nccl-validate=allreduce"
	userCode = "echo user code ran; exit 7"
)

// table is how a job's output begins.
var table = regexp.MustCompile(`^preflight: allreduce on 4 nodes, host backend \(libhostccl \S+, Gloo\), 16 MiB, \d+ iterations
  node   ranks   GB/s busbw   floor
(  n\d +1 +\d\.\d{3}   0\.080
){4}  job +4 +\d\.\d{3}   0\.080
preflight: (PASS|FAIL|NOT JUDGED)  allreduce (\d\.\d{3}) GB/s, floor 0\.080 GB/s \((\d+) %\)\. (.*)\n`)

func TestHealthyJobRuns(t *testing.T) {
	l := startLab(t)
	state, exit, output := l.submit(userCode, "-N4", option).await()
	require.Equal(t, "FAILED", state)
	require.Equal(t, "7:0", exit, "the exit code is the program's own")
	found := table.FindStringSubmatch(output)
	require.NotNil(t, found, output)
	require.Equal(t, "PASS", found[2])
	require.Regexp(t, `^Job 1 runs\. Report: /home/user/\S+/gate\.json$`, found[5])
	require.Equal(t, "user code ran\n", strings.TrimPrefix(output, found[0]))

	gate := l.report(strings.TrimPrefix(found[5], "Job 1 runs. Report: "))
	require.Equal(t, report.Pass, gate.Verdict)
	require.Equal(t, []string{"n1", "n2", "n3", "n4"}, gate.Nodes)
	require.True(t, gate.Results[0].Correct)
	require.Equal(t, "/etc/slurm/plugstack.conf:1", gate.Results[0].FloorSource)
	l.idle(5 * time.Second)
}

// report reads a gate.json in a home directory of the lab.
func (l lab) report(path string) report.Gate {
	l.t.Helper()
	r := l.run("cat", path)
	require.Zero(l.t, r.code, r.err)
	var gate report.Gate
	require.NoError(l.t, json.Unmarshal([]byte(r.out), &gate))
	require.Equal(l.t, report.Schema, gate.Schema)
	return gate
}

// kinds are the two ways in which a site may name the plugin; the gate must not depend on it.
func kinds(t *testing.T, test func(l lab)) {
	t.Helper()
	for _, kind := range []string{"required", "optional"} {
		t.Run(kind, func(t *testing.T) {
			var flags []string
			if kind == "optional" {
				flags = []string{"--optional"}
			}
			l := startLab(t, flags...)
			l.must("link", "n3", "200mbit")
			test(l)
			l.idle(5 * time.Second)
		})
	}
}

func failed(t *testing.T, output, end string) {
	t.Helper()
	found := table.FindStringSubmatch(output)
	require.NotNil(t, found, output)
	require.Equal(t, "FAIL", found[2])
	require.Contains(t, found[5], end)
}

func TestThrottledBatchJobStops(t *testing.T) {
	kinds(t, func(l lab) {
		t := l.t
		j := l.submit(userCode, "-N4", option)
		state, exit, output := j.await()
		require.Equal(t, "FAILED", state)
		require.Equal(t, "75:0", exit)
		failed(t, output, "Job "+j.id+" stops with exit code 75.")
		require.NotContains(t, output, "user code")
		require.Equal(t, "idle", l.states(), "no node is drained")
		state, _, output = l.submit("echo next", "-N4").await()
		require.Equal(t, "COMPLETED", state)
		require.Equal(t, "next\n", output)
	})
}

func TestThrottledSrunStops(t *testing.T) {
	kinds(t, func(l lab) {
		t := l.t
		r := l.run("srun", "-N4", option, "echo", "user code")
		released := time.Now()
		require.Equal(t, 75, r.code)
		require.Empty(t, r.out)
		failed(t, r.err[strings.Index(r.err, "preflight: "):], "srun stops with exit code 75.")
		l.eventually(2*time.Second, func() bool { return l.states() == "idle" }, "the allocation is not released")
		require.Less(t, time.Since(released), 2*time.Second)
		r = l.run("srun", "-N4", "true")
		require.Zero(t, r.code, r.err)
	})
}

func TestThrottledSallocStopsItsSteps(t *testing.T) {
	kinds(t, func(l lab) {
		t := l.t
		r := l.run("salloc", "-N4", option, "bash", "-c", "srun echo user code; exit $?")
		require.Equal(t, 75, r.code)
		require.NotContains(t, r.out, "user code")
		failed(t, r.err[strings.Index(r.err, "preflight: "):], "srun stops with exit code 75.")
	})
}

func TestSallocMeasuresOnce(t *testing.T) {
	l := startLab(t)
	r := l.run("salloc", "-N4", option, "bash", "-c", "srun echo one; srun echo two")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 1, strings.Count(r.err, "GB/s busbw"), r.err)
	require.Equal(t, 1, strings.Count(r.err, "Measured before in this job"), r.err)
	require.Equal(t, 4, strings.Count(r.out, "one\n"))
	require.Equal(t, 4, strings.Count(r.out, "two\n"))
}

func TestMistakeIsRefusedBeforeQueueing(t *testing.T) {
	l := startLab(t)
	for _, command := range [][]string{
		{"sbatch", "--nccl-validate=alreduce", "--wrap", "true"},
		{"sbatch", "--nccl-validate", "alreduce", "--wrap", "true"},
		{"srun", "--nccl-validate=alreduce", "true"},
		{"salloc", "--nccl-validate=alreduce", "true"},
	} {
		r := l.run(command...)
		require.NotZero(t, r.code, command)
		require.Contains(t, r.err, `did you mean "allreduce"?`, command)
	}
	require.Empty(t, l.run("squeue", "--noheader", "--states=all").out, "nothing was queued")
}

func TestOptOut(t *testing.T) {
	l := startLab(t)
	l.must("link", "n3", "200mbit")
	_, exit, output := l.submit(userCode, "-N4", "--nccl-validate=off").await()
	require.Equal(t, "7:0", exit)
	require.Equal(t, "user code ran\n", output)
}

func TestWarnRunsAndSaysSo(t *testing.T) {
	l := startLab(t)
	l.must("link", "n3", "200mbit")
	j := l.submit(userCode, "-N4", option+",on-fail=warn")
	_, exit, output := j.await()
	require.Equal(t, "7:0", exit)
	failed(t, output, "Job "+j.id+" runs all the same.")
	require.True(t, strings.HasSuffix(output, "user code ran\n"))
}

func TestStepsInsideTheJobAreNotGatedAgain(t *testing.T) {
	l := startLab(t)
	_, exit, output := l.submit("srun hostname\nsrun --nccl-validate=allreduce hostname", "-N4", option).await()
	require.Equal(t, "0:0", exit, output)
	require.Equal(t, 1, strings.Count(output, "GB/s busbw"), output)
	require.Equal(t, 1, strings.Count(output, "Measured before in this job"), "an explicit option is answered by the record")
	require.Equal(t, 2, strings.Count(output, "n4\n"))
}

// environment is what a job's program and its steps see, without what differs from job to job.
func (l lab) environment(flags ...string) string {
	l.t.Helper()
	_, exit, output := l.submit("env -0 | sort -z | tr '\\0\\n' '\\n?' | grep -v ^_=; srun -N1 -n1 env -0 | sort -z | tr '\\0\\n' '\\n?'",
		append([]string{"-N1", "-w", "n1"}, flags...)...).await()
	require.Equal(l.t, "0:0", exit, output)
	output = regexp.MustCompile(`(?m)^preflight: .*\n|^  .*\n`).ReplaceAllString(output, "")
	own := regexp.MustCompile(`(?m)^(SLURM_JOB_ID|SLURM_JOBID|SLURM_TASK_PID|SLURM_SRUN_COMM_PORT|SLURM_LAUNCH_NODE_IPADDR|SLURM_STEP_ID|SLURM_STEPID|SLURM_STEP_LAUNCHER_PORT|PWD|SLURM_SUBMIT_DIR|TMPDIR|SLURM_JOB_START_TIME|SLURM_JOB_END_TIME)=.*\n`)
	return own.ReplaceAllString(output, "")
}

func TestEnvironmentIsTheUsersOwn(t *testing.T) {
	l := startLab(t)
	with := l.environment()
	gated := l.environment(option)
	require.Zero(t, l.root("", "sh", "-c", "echo > /etc/slurm/plugstack.conf").code)
	without := l.environment()
	require.Contains(t, without, "SLURM_JOB_NODELIST=n1")
	require.Equal(t, without, with, "a job that does not use the plugin")
	require.Equal(t, without, gated, "a job that does")
}

func TestMissingPartEndsWith69(t *testing.T) {
	l := startLab(t)
	for key, path := range map[string]string{"gate.host_lib": "/nope/libhostccl.so", "gate.worker": "/nope/preflight-worker"} {
		l.must("set", key+"="+path)
		r := l.run("srun", "-N2", option, "echo", "user code")
		require.Equal(t, 69, r.code, r.err)
		require.Empty(t, r.out)
		require.Contains(t, r.err, path, "it says which file")
		require.Contains(t, r.err, key+"=", "and how to name another")
		_, exit, output := l.submit(userCode, "-N2", option).await()
		require.Equal(t, "69:0", exit, output)
		l.must("set", key+"=")
	}
	l.idle(5 * time.Second)
}

// slowly makes the gate last long enough to be cancelled.
func slowly(l lab) {
	l.must("link", "n3", "5mbit")
}

func (l lab) measuring() {
	l.t.Helper()
	l.eventually(15*time.Second, func() bool { return strings.Count(l.processes("preflight-work"), "\n") >= 7 }, "the gate does not start")
}

func TestScancelEndsTheGate(t *testing.T) {
	l := startLab(t)
	slowly(l)
	j := l.submit(userCode, "-N4", option)
	l.measuring()
	began := time.Now()
	require.Zero(t, l.run("scancel", j.id).code)
	l.idle(5 * time.Second)
	require.Less(t, time.Since(began), 5*time.Second)
	state, _, output := j.await()
	require.Equal(t, "CANCELLED", state)
	require.NotContains(t, output, "user code")

	wait := l.start(nil, "srun", "-N4", option, "echo", "user code")
	l.measuring()
	began = time.Now()
	require.Zero(t, l.run("scancel", "--user=user").code)
	r := wait()
	require.Equal(t, 143, r.code, r.err)
	require.Contains(t, r.err, "CANCELLED")
	require.Empty(t, r.out)
	l.idle(5*time.Second - time.Since(began))
}

func TestCtrlCEndsTheGate(t *testing.T) {
	l := startLab(t)
	slowly(l)
	keyboard, typed, err := os.Pipe()
	require.NoError(t, err)
	defer keyboard.Close()
	// script gives srun a terminal, whose line discipline makes the signal.
	wait := l.start(keyboard, "script", "--quiet", "--return", "--command", "srun -N4 "+option+" echo user code", "/dev/null")
	l.measuring()
	began := time.Now()
	_, err = typed.WriteString("\x03")
	require.NoError(t, err)
	l.idle(5 * time.Second)
	require.Less(t, time.Since(began), 5*time.Second)
	require.NoError(t, typed.Close())
	r := wait()
	require.Equal(t, 130, r.code, r.out)
	require.Contains(t, r.out, "CANCELLED")
	require.NotContains(t, r.out, "user code\r\n")
}

func TestReportGoesWhereTheUserSays(t *testing.T) {
	l := startLab(t)
	path := filepath.Join(os.TempDir(), "preflight-e2e-"+filepath.Base(l.name)+".json")
	t.Cleanup(func() { _ = os.Remove(path) })
	r := l.run("srun", "-N2", option+",size=1M,iters=3,report="+path, "true")
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.err, "Report: "+path)
	gate := l.report(path)
	require.EqualValues(t, 1<<20, gate.Results[0].Bytes)
	require.Equal(t, 3, gate.Results[0].Iters)
}

func TestGateByHand(t *testing.T) {
	l := startLab(t)
	r := l.run("salloc", "-N4", "bash", "-c", "preflight gate --json; echo $?; preflight gate allreduce,min=5; echo $?")
	require.Zero(t, r.code, r.err)
	var gate report.Gate
	decoder := json.NewDecoder(strings.NewReader(r.out))
	require.NoError(t, decoder.Decode(&gate))
	require.Equal(t, report.Pass, gate.Verdict)
	require.Contains(t, r.out, "\n0\n")
	require.Contains(t, r.out, "floor 5.000 GB/s")
	require.True(t, strings.HasSuffix(r.out, "75\n"))
}
