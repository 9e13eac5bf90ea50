package loader

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const deadline = 15 * time.Second

// Parts of an installation, below its home.
const (
	front   = "lib/spank_preflight.so"
	core    = "lib/libpreflight.so"
	program = "bin/preflight"
)

// home is an installation of the plugin in a directory of its own.
type home string

// install makes a home that has everything, or all but what is named.
func install(t *testing.T, without ...string) home {
	t.Helper()
	require.NoError(t, buildErr)
	h := home(t.TempDir())
	for _, part := range []string{front, core, program} {
		require.NoError(t, os.MkdirAll(filepath.Dir(h.path(part)), 0o755))
		require.NoError(t, os.Link(filepath.Join(built, filepath.Base(part)), h.path(part)))
	}
	for _, part := range without {
		require.NoError(t, os.Remove(h.path(part)))
	}
	return h
}

func (h home) path(part string) string { return filepath.Join(string(h), part) }

// outcome is what one run of the loader left behind.
type outcome struct {
	lines  []string // one or more per step
	stderr string
	code   int
}

// has says whether the loader printed this very line.
func (o outcome) has(line string) bool { return o.count(line) > 0 }

func (o outcome) count(line string) int {
	n := 0
	for _, l := range o.lines {
		if l == line {
			n++
		}
	}
	return n
}

// value is the rest of the last line that begins with a word.
func (o outcome) value(t *testing.T, word string) string {
	t.Helper()
	for _, line := range slices.Backward(o.lines) {
		if rest, found := strings.CutPrefix(line, word); found {
			return strings.TrimSpace(rest)
		}
	}
	require.Failf(t, "missing line", "%q is not in %q", word, o.lines)
	return ""
}

// loader is a command that loads this home's plugin in a context and then takes
// more steps; what stands before the word "load" happens before the plugin is there.
// Options of srun's stand before all steps.
func (h home) loader(t *testing.T, where string, steps ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	first := slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, "=") && step[0] != '-' || step == "load" })
	args := append(slices.Clone(steps[:first]), "context="+where)
	loaded := false
	for _, step := range steps[first:] {
		if step == "load" {
			step, loaded = "load="+h.path(front), true
		}
		args = append(args, step)
	}
	require.True(t, loaded, "no step loads the plugin")
	command := exec.CommandContext(ctx, filepath.Join(built, "loader"), args...)
	// What does not end in time ends with all that it started.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}

func (h home) run(t *testing.T, where string, steps ...string) outcome {
	t.Helper()
	return finish(t, h.loader(t, where, steps...))
}

func finish(t *testing.T, command *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NotEqual(t, 99, command.ProcessState.ExitCode(), "the loader itself failed: %s", stderr.String())
	return outcome{strings.Split(stdout.String(), "\n"), stderr.String(), command.ProcessState.ExitCode()}
}

// record is how the plugin started the program.
type record struct {
	args, env, fds []string
	rest           map[string]string
}

func (h home) started() bool {
	_, err := os.Stat(h.path("bin/record"))
	return err == nil
}

func (h home) record(t *testing.T) record {
	t.Helper()
	text, err := os.ReadFile(h.path("bin/record"))
	require.NoError(t, err)
	r := record{rest: map[string]string{}}
	for line := range strings.Lines(string(text)) {
		word, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "arg":
			r.args = append(r.args, value)
		case "env":
			r.env = append(r.env, value)
		case "fd":
			r.fds = append(r.fds, value)
		default:
			key, last, _ := cutLast(line)
			r.rest[key] = last
		}
	}
	return r
}

func cutLast(line string) (before, after string, found bool) {
	fields := strings.Fields(line)
	last := len(fields) - 1
	return strings.Join(fields[:last], " "), fields[last], true
}
