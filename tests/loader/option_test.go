package loader

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoodOptionIsAccepted(t *testing.T) {
	for _, where := range []string{"local", "allocator"} {
		out := install(t).run(t, where, "block=2", "load", "init", "option=allreduce", "option=off", "report")
		require.Empty(t, out.stderr)
		require.Equal(t, 2, out.count("option 0"))
		require.True(t, out.has("core mapped"))
		require.Equal(t, "0000000000000002", out.value(t, "SigBlk:"), "the host's signal mask")
	}
}

// srun waits for SIGINT and its like in a thread of its own; a thread of Go's that
// has them open would get them instead, and end srun.
func TestThreadsOfGoLeaveTheHostsSignalsAlone(t *testing.T) {
	out := install(t).run(t, "local", "load", "init", "option=allreduce", "report")
	threads := 0
	for _, line := range out.lines {
		mask, found := strings.CutPrefix(line, "thread SigBlk:")
		if !found {
			continue
		}
		threads++
		blocked, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		require.NoError(t, err)
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1} {
			require.NotZero(t, blocked&(1<<(sig-1)), "%s is open in %q", sig, line)
		}
	}
	require.NotZero(t, threads)
}

func TestTypoIsRefusedWithTheRightWord(t *testing.T) {
	for _, where := range []string{"local", "allocator"} {
		h := install(t)
		out := h.run(t, where, "load", "init", "option=alreduce")
		require.True(t, out.has("option -1"))
		require.Contains(t, out.stderr, "loader: error: preflight: --nccl-validate: ")
		require.Contains(t, out.stderr, `"allreduce"`)
		require.False(t, h.started(), "the core has answered, no program was asked")
	}
}

// What cannot be an option at all never reaches Go, and is dropped in slurmstepd,
// where no client of ours has looked at it.
func TestValuesRefusedAtSight(t *testing.T) {
	for name, test := range map[string]struct{ value, why string }{
		"empty":   {"", "needs a value"},
		"long":    {strings.Repeat("x", 10240), "has 10240 bytes, at most 1024 are allowed"},
		"newline": {"allreduce\nmin=1", "control character (0x0a) as byte 10"},
		"escape":  {"\x1b[31m", "control character (0x1b) as byte 1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := install(t)
			out := h.run(t, "allocator", "load", "init", "option="+test.value, "report")
			require.True(t, out.has("option -1"))
			require.Contains(t, out.stderr, test.why)
			require.True(t, out.has("core absent"))

			out = h.run(t, "remote", "step=batch", "load", "init", "remote_option="+test.value, "user_init", "task_init")
			require.True(t, out.has("remote_option 0"))
			require.Contains(t, out.stderr, test.why)
			require.True(t, out.has("task_init exit 64"), "%q", out.lines)
			require.False(t, h.started())
		})
	}
}

// In a fork only one thread is alive, and in slurmstepd none of Go's would be
// left for the tasks: neither may load it.
func TestGoIsNotEnteredElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		where string
		steps []string
	}{
		"fork":        {"allocator", []string{"fork_option=alreduce"}},
		"fork, srun":  {"local", []string{"fork_option=alreduce"}},
		"slurmstepd":  {"remote", []string{"remote_option=alreduce", "report"}},
		"clone":       {"allocator", []string{"clone_option=alreduce", "report"}},
		"clone, srun": {"local", []string{"clone_option=alreduce", "report"}},
		"local call":  {"remote", []string{"option=alreduce", "report"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := install(t)
			out := h.run(t, test.where, append([]string{"load", "init"}, test.steps...)...)
			require.Empty(t, out.stderr)
			require.True(t, out.has("core absent"), "%q", out.lines)
			require.Equal(t, "1", out.value(t, "Threads:"))
			require.False(t, h.started())
		})
	}
}

// Go would end a process that has no 1.6 GB of address space left.
func TestSmallAddressSpaceAsksTheProgram(t *testing.T) {
	h := install(t)
	out := h.run(t, "allocator", "arg=gate.size=1M", "limit_as=800000000", "load", "init", "option=allreduce", "option=alreduce", "option=mute", "report")
	require.Zero(t, out.code)
	require.Equal(t, 1, out.count("option 0"))
	require.Equal(t, 2, out.count("option -1"))
	require.Contains(t, out.stderr, "loader: error: preflight: --nccl-validate=alreduce is refused by the program\n")
	require.Contains(t, out.stderr, h.path(program)+" ended with code 3")
	require.True(t, out.has("core absent"))
	require.Equal(t, []string{h.path(program), "validate", "--nccl-validate=mute", "--", "gate.size=1M"}, h.record(t).args)
	require.Equal(t, []string{"0", "1", "2"}, h.record(t).fds)
}

func TestProgramThatHangsIsGivenUp(t *testing.T) {
	h := install(t)
	out := h.run(t, "allocator", "limit_as=800000000", "load", "init", "option=hang")
	require.True(t, out.has("option -1"))
	require.Contains(t, out.stderr, h.path(program)+" gave no answer in 5 s")
	requireGone(t, h)
}

func TestMissingCoreIsNamed(t *testing.T) {
	h := install(t, core)
	out := h.run(t, "allocator", "load", "init", "option=allreduce")
	require.True(t, out.has("option -1"))
	require.Contains(t, out.stderr, "libpreflight.so was looked for beside the plugin: "+h.path(core))
}

func TestMissingProgramIsNamedAtSubmission(t *testing.T) {
	h := install(t, program)
	out := h.run(t, "allocator", "limit_as=800000000", "load", "init", "option=allreduce")
	require.True(t, out.has("option -1"))
	require.Contains(t, out.stderr, "cannot start "+h.path(program))
	require.Contains(t, out.stderr, "No such file or directory")
}

// An administrator links the plugin into Slurm's own directory.
func TestHomeIsFoundThroughALink(t *testing.T) {
	h, elsewhere := install(t), t.TempDir()
	link := filepath.Join(elsewhere, "spank_preflight.so")
	require.NoError(t, os.Symlink(h.path(front), link))
	command := h.loader(t, "allocator", "load", "init", "option=alreduce")
	for i, arg := range command.Args {
		command.Args[i] = strings.Replace(arg, h.path(front), link, 1)
	}
	out := finish(t, command)
	require.True(t, out.has("option -1"))
	require.Contains(t, out.stderr, `"allreduce"`)
}
