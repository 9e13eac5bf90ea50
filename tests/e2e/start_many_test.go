package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

// beside is a job whose output stands beside that of another.
func (j job) beside(id, name string) job {
	return job{lab: j.lab, id: id, output: strings.TrimSuffix(j.output, "/out") + "/" + name}
}

// reportPath finds where the last report of a text is.
func reportPath(t *testing.T, text string) string {
	t.Helper()
	_, path, found := strings.Cut(text[strings.LastIndex(text, " Report: "):], " Report: ")
	require.True(t, found, text)
	return strings.Fields(path)[0]
}

// Slurm shows the whole array for the job that has the array's number, which is
// the last one to run.
func TestEveryTaskOfAnArrayIsGated(t *testing.T) {
	l := startLab(t)
	array := l.submit("echo task $SLURM_ARRAY_TASK_ID", "--array=1-3%2", "-N2", quick)
	output := strings.TrimSuffix(array.output, "/out") + "/%a"
	array = l.submit("echo task $SLURM_ARRAY_TASK_ID", "--array=1-3%2", "-N2", "--output="+output, quick)
	reports := map[string]bool{}
	for task := 1; task <= 3; task++ {
		j := job{lab: l, id: fmt.Sprintf("%s_%d", array.id, task), output: strings.Replace(output, "%a", fmt.Sprint(task), 1)}
		_, exit, text := j.await()
		require.Equal(t, "0:0", exit, text)
		gated(t, text, 2)
		require.True(t, strings.HasSuffix(text, fmt.Sprintf("\ntask %d\n", task)), text)
		gate := l.report(reportPath(t, text))
		require.Equal(t, gate.Job, j.show("JobId"))
		require.Contains(t, text, "Job "+gate.Job+" runs.")
		reports[gate.Job] = true
	}
	require.Len(t, reports, 3, "a report of its own for each task")
}

func TestEveryComponentIsGated(t *testing.T) {
	l := startLab(t)
	j := l.submit("srun --het-group=0,1 echo user code", "-N2", quick, ":", "-N2")
	_, exit, output := j.await()
	require.Equal(t, "0:0", exit, output)
	require.Equal(t, []string{"PASS", "PASS"}, verdicts(output))
	require.Regexp(t, `(?s)  n1 .*  n2 .*Component 1\+0\. Report.*  n3 .*  n4 .*Component 1\+1\. Job 1 runs\.`, output)
	require.Equal(t, 4, strings.Count(output, "user code\n"))
	gate := l.report(reportPath(t, output))
	require.Equal(t, "1+1", gate.Component)
	require.Equal(t, []string{"n3", "n4"}, gate.Nodes)

	r := l.run("srun", "-N1", quick, "echo", "user code", ":", "-N2", "echo", "user code")
	require.Zero(t, r.code, r.err)
	require.Equal(t, []string{"NOT TESTABLE", "PASS"}, verdicts(r.err))
	require.Equal(t, "user code\nuser code\nuser code\n", r.out)

	r = l.run("salloc", "-N2", quick, ":", "-N1", "bash", "-c", "srun --het-group=1 hostname; srun --het-group=0,1 true")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 1, strings.Count(r.err, "GB/s busbw"), r.err)
	require.Equal(t, 2, strings.Count(r.err, "Measured before in this job"), "each component by the record")
}

// The worse component decides, in whatever order.
func TestBadComponentStopsTheWholeJob(t *testing.T) {
	l := startLab(t)
	l.must("link", "n2", "100mbit")
	j := l.submit("echo user code", "-N2", "-w", "n1,n2", option+",size=1M,iters=2,min=0.04", ":", "-N2", "-w", "n3,n4")
	_, exit, output := j.await()
	require.Equal(t, "75:0", exit, output)
	require.Equal(t, []string{"FAIL", "PASS"}, verdicts(output), output)
	require.Contains(t, output, "Component 1+1. Job 1 stops with exit code 75.")
	require.NotContains(t, output, "user code")
	l.idle(5 * time.Second)
}

// The one batch step is the first component's, and hears of no other's options.
func TestOptionOfALaterComponentIsRefused(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	script := l.submit("#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N1\ntrue").output
	script = strings.TrimSuffix(script, "out") + "job.sh"
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(script, []byte(strings.Replace(string(text), "hetjob\n#SBATCH", "hetjob\n#SBATCH "+quick, 1)), 0o755))
	for _, command := range [][]string{
		{"sbatch", "-N1", ":", "-N1", quick, "--wrap", "true"},
		{"sbatch", "-N1", quick, ":", "-N1", strict, "--wrap", "true"},
		{"sbatch", script},
		{"srun", "-N1", "true", ":", "-N1", quick, "true"},
		{"salloc", "-N1", ":", "-N1", quick, "true"},
	} {
		r := l.run(command...)
		require.NotZero(t, r.code, command)
		require.Contains(t, r.err, "cannot be given to component 1 of a heterogeneous job alone: give it to component 0", command)
	}
}

func TestRequeuedJobIsGatedAgain(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	j := l.submit("echo attempt $SLURM_RESTART_COUNT", "-N2", strict)
	_, exit, output := j.await()
	require.Equal(t, "75:0", exit, output)
	require.NotContains(t, output, "attempt")
	first := headline.FindString(output)

	require.Zero(t, l.run("scontrol", "requeue", j.id).code)
	// Slurm would wait two minutes, and refuses to launch in the second of the first end.
	require.Zero(t, l.run("scontrol", "update", "JobId="+j.id, "StartTime=now+2").code)
	_, exit, output = j.await()
	require.Equal(t, "75:0", exit, output)
	told, rest, _ := strings.Cut(output, "\n")
	require.NotEmpty(t, told)
	require.True(t, strings.HasPrefix(told, "preflight: attempt 0: FAIL  allreduce "), output)
	require.True(t, strings.HasPrefix(first, strings.Replace(told, "attempt 0: ", "", 1)), "the very figures of the first attempt: %s", first)
	require.Equal(t, []string{"FAIL"}, verdicts(rest))
	gate := l.report(reportPath(t, output))
	require.Equal(t, 1, gate.Attempt)
	require.NotContains(t, output, "attempt 1")
}

// A gate that fails leaves no step behind that holds the nodes.
func TestNextSrunAfterAFailedOne(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	r := l.run("salloc", "-N2", "bash", "-c", "srun "+strict+" echo never; echo code $?; squeue --noheader --steps; srun echo next; srun --jobid=$SLURM_JOB_ID "+strict+" echo never; srun echo last")
	require.Zero(t, r.code, r.err)
	require.Equal(t, strings.ReplaceAll("code 75,next,next,last,last,", ",", "\n"), r.out, r.err)

	j := l.submit("sleep 60", "-N2")
	l.eventually(10*time.Second, func() bool { return j.show("JobState") == "RUNNING" }, "the job does not start")
	r = l.run("srun", "--overlap", "--jobid="+j.id, quick, "echo", "user code")
	require.Zero(t, r.code, r.err)
	gated(t, r.err, 2)
	require.Equal(t, "user code\nuser code\n", r.out)
	r = l.run("srun", "--overlap", "--jobid", j.id, strict, "echo", "user code")
	require.Equal(t, 75, r.code, r.err)
	require.Equal(t, j.id+".batch\n", l.run("squeue", "--noheader", "--steps", "--format=%i", "--job", j.id).out, "a step is left in the job")
	require.Zero(t, l.run("scancel", j.id).code)
}

// Two gates at once would measure each other.
func TestSrunsAtTheSameTimeTakeTurns(t *testing.T) {
	l := startLab(t)
	r := l.run("salloc", "-N4", quick, "bash", "-c", "for n in 1 2 3; do srun -N$n --overlap echo user code & done; wait")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 1, strings.Count(r.err, "GB/s busbw"), r.err)
	require.Equal(t, []string{"PASS", "PASS", "PASS"}, verdicts(r.err))
	require.Equal(t, 2, strings.Count(r.err, "Measured before in this job"))
	require.Equal(t, 6, strings.Count(r.out, "user code\n"))
	gate := l.report(reportPath(t, r.err))
	require.Equal(t, report.Pass, gate.Verdict)
	require.Len(t, gate.Nodes, 4, "all nodes of the job, also those that no step uses")
}

// Where a site's salloc starts the shell in a step, that step is the first srun.
func TestInteractiveStepIsGated(t *testing.T) {
	l := startLab(t, "--nodes", "2", "--conf", "LaunchParameters=use_interactive_step")
	shell := func(flag string) ran {
		return l.start(strings.NewReader("echo in the $((6*7))th shell\nexit 4\n"), "script", "--quiet", "--return", "--command", "salloc -N2 "+flag, "/dev/null")()
	}
	r := shell(quick)
	require.Equal(t, 4, r.code, r.out)
	gated(t, strings.ReplaceAll(r.out, "\r", ""), 2)
	require.Contains(t, r.out, "in the 42th shell")
	r = shell(strict)
	require.Equal(t, 75, r.code, r.out)
	require.NotContains(t, r.out, "in the 42th shell")
	l.idle(5 * time.Second)
}
