package loader

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const spankVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_preflight_nccl_validate"

// batch has the steps of a batch job with the option, up to its task.
func batch(before []string, args ...string) []string {
	steps := append([]string{"step=batch"}, before...)
	for _, arg := range args {
		steps = append(steps, "arg="+arg)
	}
	return append(steps, "load", "init", "remote_option=allreduce", "user_init", "task_init")
}

func srun(before []string, args ...string) []string {
	var steps []string
	for _, arg := range args {
		steps = append(steps, "arg="+arg)
	}
	return append(append(steps, before...), "load", "init", "option=allreduce", "local_user_init")
}

func TestBatchGoesOnAfterAFitVerdict(t *testing.T) {
	h := install(t)
	out := h.run(t, "remote", batch([]string{"block=10"}, "stub.exit=0")...)
	require.Empty(t, out.stderr)
	require.True(t, out.has("user code"))
	require.True(t, out.has("task_init exit 0"))
	require.True(t, out.has("core absent"))
	require.Equal(t, "0000000000000200", out.value(t, "SigBlk:"), "the signal mask that user code inherits")
}

func TestBatchEndsWithTheCode(t *testing.T) {
	for arg, code := range map[string]int{"stub.exit=75": 75, "stub.exit=69": 69, "stub.exit=1": 1, "stub.kill=9": 137, "stub.kill=11": 139} {
		t.Run(arg, func(t *testing.T) {
			out := install(t).run(t, "remote", batch(nil, arg)...)
			require.True(t, out.has(fmt.Sprintf("task_init exit %d", code)), "%q", out.lines)
			require.False(t, out.has("user code"))
		})
	}
}

func TestSrunEndsWithTheCode(t *testing.T) {
	for arg, code := range map[string]int{"stub.exit=75": 75, "stub.exit=130": 130, "stub.kill=9": 137} {
		t.Run(arg, func(t *testing.T) {
			out := install(t).run(t, "local", srun(nil, arg)...)
			require.Equal(t, code, out.code)
			require.True(t, out.has("atexit"), "srun's own handlers release the allocation")
			require.False(t, out.has("local_user_init 0"))
		})
	}
	out := install(t).run(t, "local", srun(nil, "stub.exit=0")...)
	require.Zero(t, out.code)
	require.True(t, out.has("local_user_init 0"))
}

// A shell that ignores SIGCHLD hands that on, and then a child's code is lost.
func TestSrunThatIgnoresSIGCHLD(t *testing.T) {
	out := install(t).run(t, "local", srun([]string{"ignore=17"}, "stub.exit=75")...)
	require.Equal(t, 75, out.code)
}

func TestArgumentsOfBegin(t *testing.T) {
	h := install(t)
	h.run(t, "remote", batch(nil, "gate.min.allreduce=400", "config=/etc/preflight/preflight.yaml")...)
	require.Equal(t, []string{
		h.path(program), "begin", "--start=batch", "--nccl-validate=allreduce", "--",
		"gate.min.allreduce=400", "config=/etc/preflight/preflight.yaml",
	}, h.record(t).args)

	h = install(t)
	h.run(t, "local", srun(nil)...)
	require.Equal(t, []string{h.path(program), "begin", "--start=srun", "--nccl-validate=allreduce", "--"}, h.record(t).args)
}

// The program inherits nothing that it could be confused by or that is waited for.
func TestWhatBeginInherits(t *testing.T) {
	for name, test := range map[string]struct {
		where string
		steps []string
	}{
		"batch":      {"remote", batch([]string{"block=15", "block=17", "ignore=13", "open"})},
		"srun":       {"local", srun([]string{"block=15", "block=2", "ignore=13", "ignore=1", "open"})},
		"old kernel": {"local", srun([]string{"open", "open", "open", "old_kernel"})},
	} {
		t.Run(name, func(t *testing.T) {
			h := install(t)
			h.run(t, test.where, test.steps...)
			got := h.record(t)
			require.Equal(t, []string{"0", "1", "2"}, got.fds)
			require.Equal(t, "/dev/null", got.rest["stdin"])
			require.Equal(t, "0000000000000000", got.rest["SigBlk:"])
			require.Zero(t, ignored(t, got.rest["SigIgn:"]))
			require.Equal(t, "15", got.rest["death signal"])
		})
	}
}

const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// pathOf is the PATH that a program of Slurm gives to the gate: its own directory, bin beside it, the usual ones.
func pathOf(program string) string {
	dir := filepath.Dir(program)
	return "PATH=" + dir + ":" + filepath.Dir(dir) + "/bin:" + standardPath
}

// ignored is a mask of ignored signals without 32 and 33, which are the C
// library's own: make's children inherit them ignored, and no program can change that.
func ignored(t *testing.T, mask string) uint64 {
	t.Helper()
	bits, err := strconv.ParseUint(mask, 16, 64)
	require.NoError(t, err)
	return bits &^ (1<<31 | 1<<32)
}

// foreign has variables of a user's that the program must not get.
var foreign = []string{
	"PATH=/home/user/bin", "LD_PRELOAD=evil.so", "LD_LIBRARY_PATH=/x", "HOMEWARD=1", "TERMINFO=1", "SLURMX=1",
	"PMI_FD=3", "SLURM_SPANK_X=1", spankVariable + "=allreduce", "_SLURM_SPANK_OPTION_preflight_nccl_validate=allreduce",
}

// allowed has those that it must.
var allowed = []string{
	"HOME=/home/user", "USER=user", "LOGNAME=user", "LANG=C", "LC_ALL=C", "TERM=xterm", "TMPDIR=/scratch dir",
	"NCCL_DEBUG=INFO", "RCCL_X=", "SLURM_JOB_NODELIST=n[1-4]", "SLURM_NTASKS=4",
}

func TestEnvironmentOfBeginInABatchJob(t *testing.T) {
	h := install(t)
	steps := []string{}
	for _, variable := range append(append([]string{"SLURM_CONF=/forged", "SLURMD_NODENAME=forged"}, foreign...), allowed...) {
		steps = append(steps, "env="+variable)
	}
	command := h.loader(t, "remote", batch(steps)...)
	command.Env = []string{"SLURM_CONF=/etc/slurm/slurm.conf", "SLURMD_NODENAME=n1", "SLURM_OF_SLURMSTEPD=1", "HOME=/root"}
	finish(t, command)
	require.Equal(t, append([]string{
		"SLURM_JOB_ID=12", pathOf(command.Path), "SLURM_CONF=/etc/slurm/slurm.conf", "SLURMD_NODENAME=n1",
	}, allowed...), h.record(t).env)
}

// What slurmstepd does not know is not taken from the user.
func TestForgedPlacesAreDropped(t *testing.T) {
	h := install(t)
	command := h.loader(t, "remote", batch([]string{"env=SLURM_CONF=/forged", "env=SLURMD_NODENAME=forged", "env=SLURM_JOB_ID=7"})...)
	command.Env = []string{}
	finish(t, command)
	require.Equal(t, []string{"SLURM_JOB_ID=12", pathOf(command.Path)}, h.record(t).env)
}

// Slurm may stand anywhere: its commands are beside srun, and in bin beside slurmstepd's sbin.
func TestSlurmsCommandsAreFoundWhereSlurmIs(t *testing.T) {
	for program, start := range map[string]func([]string, ...string) []string{"bin/srun": srun, "sbin/slurmstepd": batch} {
		h, slurm := install(t), t.TempDir()
		where := map[string]string{"bin/srun": "local", "sbin/slurmstepd": "remote"}[program]
		command := h.loader(t, where, start(nil)...)
		host := filepath.Join(slurm, program)
		require.NoError(t, os.MkdirAll(filepath.Dir(host), 0o755))
		require.NoError(t, os.Link(command.Path, host))
		command.Path = host
		finish(t, command)
		require.Contains(t, h.record(t).env, pathOf(host))
		require.Contains(t, pathOf(host), slurm+"/bin:")
	}
}

// A colon would begin another directory, of somebody else's choice.
func TestDirectoryWithAColonIsNoPath(t *testing.T) {
	h, host := install(t), filepath.Join(t.TempDir(), "a:b", "srun")
	command := h.loader(t, "local", srun(nil)...)
	require.NoError(t, os.Mkdir(filepath.Dir(host), 0o755))
	require.NoError(t, os.Link(command.Path, host))
	command.Path = host
	finish(t, command)
	require.Contains(t, h.record(t).env, "PATH="+standardPath)
}

func TestEnvironmentOfBeginInSrun(t *testing.T) {
	h := install(t)
	command := h.loader(t, "local", srun(nil)...)
	command.Env = append(append([]string{"SLURM_JOB_ID=7", "SLURM_CONF=/etc/slurm/slurm.conf"}, foreign...), allowed...)
	finish(t, command)
	require.Equal(t, append([]string{"SLURM_JOB_ID=12", pathOf(command.Path), "SLURM_CONF=/etc/slurm/slurm.conf"}, allowed...), h.record(t).env)
}

func TestMissingProgramEndsTheJobWithASentence(t *testing.T) {
	h := install(t, program)
	out := h.run(t, "remote", batch(nil)...)
	require.True(t, out.has("task_init exit 69"), "%q", out.lines)
	require.Equal(t, "preflight: cannot start "+h.path(program)+", which was looked for in ../bin of the plugin's directory: No such file or directory.\n"+
		"preflight: the gate ended without a verdict. Exit code 69.\n", out.stderr)
	out = h.run(t, "local", srun(nil)...)
	require.Equal(t, 69, out.code)
	require.Contains(t, out.stderr, "cannot start "+h.path(program))
}

// sbatch leaves the option in the job's environment, where every srun of the
// script would find it. On 22.05 with --export=NONE the batch step finds it nowhere else.
func TestBatchStepTakesTheOptionOutOfTheEnvironment(t *testing.T) {
	h := install(t)
	out := h.run(t, "remote", "step=batch", "env=A=1", "env="+spankVariable+"=allreduce,min=1", "env=B=2",
		"load", "init", "user_init", "environment", "task_init")
	require.Equal(t, []string{"A=1", "B=2"}, environment(out))
	require.Equal(t, "--nccl-validate=allreduce,min=1", h.record(t).args[3])

	out = h.run(t, "remote", "step=batch", "env="+spankVariable+"=off",
		"load", "init", "remote_option=allreduce", "remote_option=allreduce", "user_init", "environment", "task_init")
	require.Empty(t, environment(out))
	require.Equal(t, "--nccl-validate=allreduce", h.record(t).args[3], "the option itself wins")
}

// A client that never loaded this plugin cannot refuse a bad value: the job's own start does.
func TestBadVariableEndsTheJobWith64(t *testing.T) {
	for value, why := range map[string]string{
		strings.Repeat("x", 2000): "has more than the 1024 bytes that are allowed",
		"a\tb":                    "has a control character (0x09) as byte 2",
	} {
		h := install(t)
		out := h.run(t, "remote", "step=batch", "env="+spankVariable+"="+value, "load", "init", "user_init", "environment", "task_init")
		require.Contains(t, out.stderr, "preflight: the value of --nccl-validate "+why+". The job stops with exit code 64.\n")
		require.Empty(t, environment(out))
		require.True(t, out.has("task_init exit 64"), "%q", out.lines)
		require.False(t, out.has("user code"))
		require.False(t, h.started())
	}
}

func TestEmptyVariableIsNoOption(t *testing.T) {
	h := install(t)
	out := h.run(t, "remote", "step=batch", "env="+spankVariable+"=", "load", "init", "user_init", "environment", "task_init")
	require.Empty(t, out.stderr)
	require.Empty(t, environment(out))
	require.True(t, out.has("user code"))
}

// A step that srun has made and not launched keeps its nodes until the job
// ends, so an srun inside a job is gated before it makes one, and not again.
func TestSrunInsideAJobIsGatedBeforeItsStep(t *testing.T) {
	for name, test := range map[string]struct {
		options, env []string
		job          string // empty: gated later, when Slurm tells the job
	}{
		"the variable":         {env: []string{"SLURM_JOB_ID=7"}, job: "7"},
		"the old variable":     {env: []string{"SLURM_JOBID=7"}, job: "7"},
		"the new one wins":     {env: []string{"SLURM_JOBID=8", "SLURM_JOB_ID=7"}, job: "7"},
		"an option":            {options: []string{"--jobid=7"}, env: []string{"SLURM_JOB_ID=8"}, job: "7"},
		"an option, abridged":  {options: []string{"--jobi=7"}, job: "7"},
		"in two words":         {options: []string{"-N", "2", "--jobid", "7"}, job: "7"},
		"the last option wins": {options: []string{"--jobid=8", "--jobid=7"}, job: "7"},
		"another option":       {options: []string{"--job-name=7"}},
		"ambiguous":            {options: []string{"--job=7"}},
		"no number":            {options: []string{"--jobid=7_1"}, env: []string{"SLURM_JOB_ID=7"}},
		"no job":               {},
		"out of range":         {env: []string{"SLURM_JOB_ID=4294967297"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := install(t)
			run := func(last ...string) outcome {
				steps := append(slices.Clone(test.options), "arg=stub.say=0", "load", "init", "option=allreduce", "--jobid=9", "init_post_opt")
				command := h.loader(t, "local", append(steps, last...)...)
				command.Env = test.env
				return finish(t, command)
			}
			require.Zero(t, run().code)
			require.Equal(t, test.job != "", h.started())
			if test.job == "" {
				test.job = "12"
				run("local_user_init")
			}
			require.Contains(t, h.record(t).env, "SLURM_JOB_ID="+test.job)
			require.Equal(t, 1, run("local_user_init").count("begun"), "gated once")
		})
	}
}

func TestOtherProgramsAreNotGatedAtTheirOptions(t *testing.T) {
	h := install(t)
	command := h.loader(t, "allocator", "load", "init", "option=allreduce", "init_post_opt")
	command.Env = []string{"SLURM_JOB_ID=7"}
	require.Zero(t, finish(t, command).code)
	require.False(t, h.started())
	command = h.loader(t, "local", "load", "init", "init_post_opt")
	command.Env = []string{"SLURM_JOB_ID=7"}
	require.Zero(t, finish(t, command).code)
	require.False(t, h.started(), "without the option")
}

// The batch step sees the options of the first component alone.
func TestOptionOfALaterComponentIsRefused(t *testing.T) {
	for first, ok := range map[string]bool{"option=allreduce": true, "option=allreduce,min=1": false, "report": false} {
		h := install(t)
		out := h.run(t, "allocator", "load", "init", first, "init_post_opt", "option=allreduce")
		require.Equal(t, ok, !out.has("option -1"), first)
		if !ok {
			require.Contains(t, out.stderr, "--nccl-validate=allreduce cannot be given to component 1 of a heterogeneous job alone")
		}
	}
}

// Steps are gated by srun, on its own side; their environment is left alone.
func TestOtherStepsAreNotGated(t *testing.T) {
	for _, step := range []string{"0", "4294967292", "4294967290"} {
		h := install(t)
		out := h.run(t, "remote", "step="+step, "env="+spankVariable+"=allreduce",
			"load", "init", "remote_option=allreduce", "user_init", "environment", "task_init")
		require.True(t, out.has("user code"))
		require.Equal(t, []string{spankVariable + "=allreduce"}, environment(out))
		require.False(t, h.started())
	}
}

// waitingTask starts a batch task whose program waits for a signal, and returns
// the task's process, the loader's further output and its end.
func waitingTask(t *testing.T, h home) (task int, lines *bufio.Scanner, wait func()) {
	t.Helper()
	command := h.loader(t, "remote", batch(nil, "stub.wait")...)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines = bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "waiting" {
		if pid, found := strings.CutPrefix(lines.Text(), "task "); found {
			task, err = strconv.Atoi(pid)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, task)
	program, err := strconv.Atoi(h.record(t).rest["pid"])
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(program, syscall.SIGKILL) })
	return task, lines, func() {
		_, err := io.Copy(io.Discard, stdout)
		require.NoError(t, err)
		require.NoError(t, command.Wait())
	}
}

// scancel: some process trackers signal the task alone, so it hands signals on,
// and the program ends in its own time.
func TestCancelReachesTheProgram(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		h := install(t)
		task, lines, wait := waitingTask(t, h)
		require.NoError(t, syscall.Kill(task, sig))
		require.True(t, lines.Scan())
		require.Equal(t, fmt.Sprintf("task_init exit %d", 128+int(sig)), lines.Text())
		wait()
		requireGone(t, h)
	}
}

// srun has a thread of its own for these signals; it would kill tasks that are not
// there yet, and srun would go on to the user's program.
func TestCancelOfSrunReachesTheProgram(t *testing.T) {
	h := install(t)
	command := h.loader(t, "local", srun([]string{"sigwait"}, "stub.wait")...)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "waiting" {
		require.NotContains(t, lines.Text(), "local_user_init")
	}
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	require.True(t, lines.Scan())
	require.Equal(t, "atexit", lines.Text())
	require.Error(t, command.Wait())
	require.Equal(t, 143, command.ProcessState.ExitCode())
	requireGone(t, h)
}

// SIGKILL of the task leaves nothing behind either.
func TestKilledTaskTakesTheProgramAlong(t *testing.T) {
	h := install(t)
	task, lines, wait := waitingTask(t, h)
	require.NoError(t, syscall.Kill(task, syscall.SIGKILL))
	require.True(t, lines.Scan())
	require.Equal(t, "task_init signal 9", lines.Text())
	wait()
	requireGone(t, h)
}

func requireGone(t *testing.T, h home) {
	t.Helper()
	pid := h.record(t).rest["pid"]
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/" + pid + "/exe")
		link, _ := os.Readlink("/proc/" + pid + "/exe")
		return err != nil || link != h.path(program)
	}, 5*time.Second, 5*time.Millisecond)
}
