package loader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With contain_spank slurmstepd calls user_init in a process that shares its memory:
// what is decided there must hold for the tasks, and nothing of it may be Go.
func TestUserInitInAProcessThatSharesMemory(t *testing.T) {
	h := install(t)
	out := h.run(t, "remote", "step=batch", "env="+spankVariable+"=allreduce", "load", "init", "clone=user_init", "environment", "report", "task_init")
	require.True(t, out.has("clone exit 0"), "%q", out.lines)
	require.Empty(t, environment(out), "the option was taken out of the job's environment")
	require.True(t, out.has("core absent"))
	require.True(t, out.has("user code"))
	require.Equal(t, "--nccl-validate=allreduce", h.record(t).args[3])
}

// Slurm blocks signals before it loads plugins, some releases these, some others.
func TestHostsSignalMaskSurvives(t *testing.T) {
	for where, steps := range map[string][]string{
		"local":     {"load", "init", "option=allreduce", "local_user_init", "report"},
		"allocator": {"load", "init", "option=allreduce", "report"},
		"remote":    {"step=batch", "load", "init", "remote_option=allreduce", "user_init", "task_init", "report"},
	} {
		out := install(t).run(t, where, append([]string{"block=1", "block=2", "block=15", "block=17"}, steps...)...)
		require.Zero(t, out.code, "%q", out.lines)
		require.Equal(t, "0000000000014003", out.value(t, "SigBlk:"), where)
	}
}

// A user's ulimit -v reaches srun, and a site's the daemons.
func TestSmallAddressSpaceEverywhere(t *testing.T) {
	h := install(t)
	out := h.run(t, "remote", append([]string{"limit_as=300000000"}, batch(nil, "stub.exit=0")...)...)
	require.True(t, out.has("user code"), "%q", out.lines)
	out = h.run(t, "local", append([]string{"limit_as=300000000"}, srun(nil, "stub.exit=0")...)...)
	require.Zero(t, out.code)
	require.True(t, out.has("local_user_init 0"))
	out = h.run(t, "slurmd", "limit_as=300000000", "load", "init", "report")
	require.Zero(t, out.code)
	require.True(t, out.has("core absent"))
}

// Slurm closes a plugin at its end. The core cannot be unloaded, and the callbacks
// that Slurm was given must still be code afterwards.
func TestUnload(t *testing.T) {
	h := install(t)
	out := h.run(t, "allocator", "load", "init", "option=allreduce", "unload", "report", "option=alreduce")
	require.True(t, out.has("unload 0"))
	require.True(t, out.has("front mapped"))
	require.True(t, out.has("core mapped"))
	require.True(t, out.has("option -1"), "%q", out.lines)
	require.Zero(t, out.code)

	out = h.run(t, "remote", append(batch(nil, "stub.exit=0"), "unload", "report")...)
	require.True(t, out.has("unload 0"))
	require.True(t, out.has("core absent"))
	require.Zero(t, out.code)
}

// A process of Slurm may close its plugins and load them again.
func TestLoadedTwice(t *testing.T) {
	out := install(t).run(t, "allocator", "load", "init", "unload", "load", "init", "option=allreduce", "option=alreduce")
	require.Zero(t, out.code)
	require.True(t, out.has("option 0"))
	require.True(t, out.has("option -1"))
}

// What an administrator types reaches the program as it stands, and stops nothing.
func TestBadArgumentsAreHandedOn(t *testing.T) {
	args := []string{"=", "=x", "gate", "gate.sise=1M", "gate.default", "config", "a=b=c", "\x1b[31m=\xff", "%s%n=%s%n", strings.Repeat("x", 4000) + "=1"}
	var steps []string
	for _, arg := range args {
		steps = append(steps, "arg="+arg)
	}
	h := install(t)
	out := h.run(t, "remote", append(append([]string{"step=batch"}, steps...), "load", "init", "remote_option=allreduce", "user_init", "task_init")...)
	require.Empty(t, out.stderr)
	require.True(t, out.has("user code"))
	require.Equal(t, args, h.record(t).args[5:])

	for value, want := range map[string]int{"allreduce": 0, "alreduce": -1} {
		out = h.run(t, "allocator", append(steps, "load", "init", "option="+value)...)
		require.True(t, out.has(fmt.Sprintf("option %d", want)), "%q", out.stderr)
	}
}
