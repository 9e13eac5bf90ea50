package loader

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A site may have jobs gated that did not ask; the program knows which.
func TestSiteMayGateWhoDidNotAsk(t *testing.T) {
	for _, arg := range []string{"gate.default=allreduce", "gate.enforce=yes", "config=/etc/preflight/preflight.yaml"} {
		t.Run(arg, func(t *testing.T) {
			h := install(t)
			out := h.run(t, "remote", "step=batch", "arg="+arg, "load", "init", "user_init", "task_init")
			require.Empty(t, out.stderr)
			require.True(t, out.has("user code"))
			require.True(t, out.has("core absent"))
			require.Equal(t, []string{h.path(program), "begin", "--start=batch", "--", arg}, h.record(t).args)

			h = install(t)
			out = h.run(t, "local", "arg="+arg, "load", "init", "local_user_init", "report")
			require.True(t, out.has("local_user_init 0"))
			require.True(t, out.has("core absent"))
			require.Equal(t, []string{h.path(program), "begin", "--start=srun", "--", arg}, h.record(t).args)
		})
	}
}

func TestOtherArgumentsStartNothing(t *testing.T) {
	h := install(t)
	args := []string{"step=batch", "arg=gate.default.when.min_nodes=2", "arg=gate.size=1M", "arg=gate.defualt=x", "arg==", "arg=", "load", "init"}
	out := h.run(t, "remote", append(args, "user_init", "task_init")...)
	require.True(t, out.has("user code"))
	out = h.run(t, "local", append(args, "local_user_init")...)
	require.True(t, out.has("local_user_init 0"))
	require.False(t, h.started())
}

func TestStepsOfAGatedJobAreLeftAlone(t *testing.T) {
	for _, step := range []string{"0", "4294967292", "4294967290"} {
		h := install(t)
		out := h.run(t, "remote", "step="+step, "arg=gate.default=allreduce", "load", "init", "user_init", "task_init")
		require.True(t, out.has("user code"))
		require.False(t, h.started())
	}
}

// A job that did not ask is stopped by a verdict alone.
func TestBrokenGateOfTheSiteStopsNobody(t *testing.T) {
	for arg, want := range map[string]struct {
		code int
		runs bool
	}{
		"stub.exit=0":   {0, true},
		"stub.exit=75":  {75, false},
		"stub.exit=69":  {69, false},
		"stub.exit=130": {130, false},
		"stub.exit=143": {143, false},
		"stub.exit=1":   {0, true},
		"stub.exit=2":   {0, true},
		"stub.exit=64":  {0, true},
		"stub.kill=9":   {0, true},
		"stub.kill=11":  {0, true},
	} {
		t.Run(arg, func(t *testing.T) {
			out := install(t).run(t, "remote", "step=batch", "arg=gate.default=allreduce", "arg="+arg, "load", "init", "user_init", "task_init")
			require.Equal(t, want.runs, out.has("user code"), "%q", out.lines)
			if !want.runs {
				require.Contains(t, out.lines, "task_init exit "+arg[len("stub.exit="):])
			}
			out = install(t).run(t, "local", "arg=gate.default=allreduce", "arg="+arg, "load", "init", "local_user_init")
			require.Equal(t, want.code, out.code)
			require.Equal(t, want.runs, out.has("local_user_init 0"))
		})
	}
}

func TestMissingProgramStopsNobodyWhoDidNotAsk(t *testing.T) {
	h := install(t, program)
	out := h.run(t, "remote", "step=batch", "arg=gate.default=allreduce", "load", "init", "user_init", "task_init")
	require.True(t, out.has("user code"))
	require.Contains(t, out.stderr, "cannot start "+h.path(program))
	require.Contains(t, out.stderr, "the job runs, since it did not ask for one.")

	out = h.run(t, "remote", "step=batch", "arg=gate.default=allreduce", "arg=gate.on_error=fail", "load", "init", "user_init", "task_init")
	require.True(t, out.has("task_init exit 69"), "the site says that it must")
	require.False(t, out.has("user code"))
}

// The gate measures with an srun of its own, which meets the same plugstack.conf.
func TestTheGatesOwnSrunIsNotGated(t *testing.T) {
	h := install(t)
	command := h.loader(t, "local", "arg=gate.default=allreduce", "load", "init", "local_user_init")
	command.Args = append([]string{h.path(program), "host", command.Path}, command.Args[1:]...)
	command.Path = h.path(program)
	out := finish(t, command)
	require.True(t, out.has("local_user_init 0"), "%q", out.lines)
	require.False(t, h.started())
}

// sbatch knows the plugin's arguments, so it can refuse what the node would ignore.
func TestOptingOutIsRefusedWhereTheSiteEnforces(t *testing.T) {
	for _, where := range []string{"local", "allocator"} {
		h := install(t)
		out := h.run(t, where, "arg=gate.default=allreduce", "load", "init", "option=off")
		require.True(t, out.has("option 0"))
		out = h.run(t, where, "arg=gate.default=allreduce", "arg=gate.enforce=yes", "load", "init", "option=off", "option=allreduce,on-fail=warn")
		require.Contains(t, out.stderr, `"off" is refused: this site enforces its gate (gate.enforce at plugstack.conf arguments)`)
		require.Equal(t, 1, out.count("option -1"))
		require.Equal(t, 1, out.count("option 0"))
	}
}
