package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	optionVariable = "SLURM_SPANK__SLURM_SPANK_OPTION_preflight_nccl_validate"
	remoteVariable = "_SLURM_SPANK_OPTION_preflight_nccl_validate"
)

// A client that never loaded our plugin can put anything into the job's environment.
func TestOptionThatNoClientOfOursHasSeen(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	trap := strings.TrimSuffix(l.submit("true").output, "out") + "shell"
	_, good, _ := strings.Cut(quick, "=")
	tests := map[string]struct {
		variable, value string
		exit, says      string
	}{
		"good":          {optionVariable, good, "0:0", "PASS"},
		"unknown word":  {optionVariable, "alreduce", "64:0", `did you mean "allreduce"?`},
		"long":          {optionVariable, strings.Repeat("x", 10240), "64:0", "has more than the 1024 bytes that are allowed. The job stops with exit code 64."},
		"line break":    {optionVariable, "allreduce\nmin=1", "64:0", "has a control character (0x0a) as byte 10. The job stops with exit code 64."},
		"shell":         {optionVariable, "$(touch${IFS}" + trap + ")`touch${IFS}" + trap + "`;touch${IFS}" + trap, "64:0", "unknown"},
		"dashes":        {optionVariable, "--help", "64:0", "unknown"},
		"remote":        {remoteVariable, "alreduce", "64:0", `did you mean "allreduce"?`},
		"remote escape": {remoteVariable, "\x1b[31mred", "64:0", "has a control character (0x1b) as byte 1"},
		"off":           {optionVariable, "off", "0:0", "user code"},
		"empty":         {optionVariable, "", "0:0", "user code"},
	}
	jobs := map[string]job{}
	for name, test := range tests {
		// Not by sbatch's own environment, where our plugin would see it.
		file := l.submit("true").output + ".env"
		require.NoError(t, os.WriteFile(file, []byte(test.variable+"="+test.value+"\x00PATH="+os.Getenv("PATH")+"\x00"), 0o644))
		jobs[name] = l.submit("echo user code", "-N2", "--export-file="+file)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			j := jobs[name]
			j.t = t
			_, exit, output := j.await()
			require.Equal(t, test.exit, exit, output)
			require.Contains(t, output, test.says)
			require.NotContains(t, output, "\x1b")
			require.Equal(t, exit == "0:0", strings.Contains(output, "user code\n"))
		})
	}
	require.NoFileExists(t, trap)
	l.idle(5 * time.Second)
}

// What a user's environment says to srun and to the loader is meant for the user's program.
func TestOddEnvironmentsChangeNoGate(t *testing.T) {
	l := startLab(t)
	odd := [][]string{
		{"LD_PRELOAD=/nope", "LD_LIBRARY_PATH=/nope", "PATH=", "IFS=x", "BASH_ENV=/nope", "GODEBUG=x", "GOTRACEBACK=crash", "GOMAXPROCS=0", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "TZ=:/nope"},
		{"SLURM_NTASKS=3", "SLURM_NPROCS=3", "SLURM_OVERLAP=0", "SLURM_EXACT=1", "SLURM_CPU_BIND=none", "SLURM_MEM_PER_CPU=1", "SLURM_WAIT=1", "SLURM_EXPORT_ENV=NONE", "SLURM_KILL_BAD_EXIT=1", "SLURM_UNBUFFEREDIO=1", "SLURM_MPI_TYPE=none", "SLURM_DISTRIBUTION=cyclic"},
		{"SLURM_DEBUG=5", "HOME="},
		{"HOME=/nope", "TMPDIR=/proc/nope"},
		{"HOME=/root"},
		{"HOME=relative"},
	}
	jobs := map[int]job{}
	for i, variables := range odd {
		r := l.run(append(append([]string{"env"}, variables...), "/usr/bin/srun", "-N2", quick, "/bin/echo", "user code")...)
		require.Zero(t, r.code, "%v: %s", variables, r.err)
		gated(t, r.err, 2)
		require.NotContains(t, r.err, "preflight: note", "%v", variables)
		require.Contains(t, r.out, "user code\n")
		jobs[i] = l.submit("/bin/echo user code", "-N2", quick, "--export=ALL,"+strings.Join(variables, ","))
	}
	for i, variables := range odd {
		_, exit, output := jobs[i].await()
		require.Equal(t, "0:0", exit, "%v: %s", variables, output)
		gated(t, output, 2)
	}
	r := l.run("env", "-u", "HOME", "srun", "-N2", quick, "true")
	require.Zero(t, r.code, r.err)
	require.True(t, strings.HasPrefix(reportPath(t, r.err), "/tmp/preflight-"), r.err)
	r = l.run("bash", "-c", "export A=$(head -c 120000 /dev/zero | tr '\\0' x); for i in {1..8}; do export A$i=$A; done; srun -N2 "+quick+" bash -c 'echo ${#A8}'")
	require.Zero(t, r.code, r.err)
	require.Equal(t, "120000\n120000\n", r.out)
	l.idle(5 * time.Second)
}

// Nobody need read what the gate says: the verdict decides.
func TestOutputThatGoesNowhere(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	for _, to := range []string{">/dev/full 2>&1", "2>/dev/full", "2>&1 | true"} {
		r := l.run("bash", "-c", "srun -N2 "+quick+" bash -c 'exit 3' "+to+"; fit=${PIPESTATUS[0]}; srun -N2 "+strict+" true "+to+"; unfit=${PIPESTATUS[0]}; echo $fit $unfit")
		require.Equal(t, "3 75\n", r.out, to)
	}
	scratch := strings.TrimSuffix(l.submit("true").output, "/out")
	full := l.submit("exit 3", "-N2", quick, "--output=/dev/full")
	_, exit, _ := job{lab: l, id: full.id, output: "/dev/null"}.await()
	require.Equal(t, "3:0", exit)
	full = l.submit("exit 3", "-N2", strict, "--output=/dev/full")
	_, exit, _ = job{lab: l, id: full.id, output: "/dev/null"}.await()
	require.Equal(t, "75:0", exit)

	// Where one may not write, and where there is nothing.
	require.NoError(t, os.Mkdir(scratch+"/closed", 0o555))
	for _, directory := range []string{scratch + "/closed", "/nope"} {
		r := l.run("srun", "-N2", "--chdir", directory, quick, "echo", "user code")
		require.Zero(t, r.code, r.err)
		gated(t, r.err, 2)
		require.Contains(t, r.out, "user code\n")
	}
	j := l.submit("pwd", "-N2", quick, "--chdir", scratch+"/closed")
	_, exit, output := j.await()
	require.Equal(t, "0:0", exit, output)
	require.True(t, strings.HasSuffix(output, scratch+"/closed\n"), output)
	l.idle(5 * time.Second)
}
