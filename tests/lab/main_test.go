package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/snapshot"
)

// program is the lab under test. It lies in a directory that only root can
// enter, as a clone may.
var program string

// prefix begins the names of the labs of this test, so that they meet no other
// lab of the machine.
var prefix = fmt.Sprintf("test%d-", os.Getpid())

func TestMain(m *testing.M) {
	if role := os.Getenv(transferRole); role != "" {
		transfer(role)
		return
	}
	os.Exit(build(m))
}

// build makes a build tree with the lab alone in it.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lab-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o700); err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "bin", "lab")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building the lab: %v\n%s", err, out))
	}
	for _, path := range []string{program, filepath.Dir(program)} { // as under a strict umask
		if err := os.Chmod(path, 0o700); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

func own(lab string) bool { return strings.HasPrefix(lab, prefix) }

// machine records the machine, and when the test ends, after the labs of the
// test have gone, demands that it is as it was.
func machine(t *testing.T) *witness {
	t.Helper()
	before, err := snapshot.Before(own)
	require.NoError(t, err)
	w := &witness{t, before}
	t.Cleanup(w.same)
	return w
}

type witness struct {
	t      *testing.T
	before *snapshot.Machine
}

// same demands that the machine is as it was, in a moment at the latest: a
// process that was just starting may have to see first that it is not wanted.
func (w *witness) same() {
	w.t.Helper()
	var changes []string
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := process.Eventually(ctx, 10*time.Millisecond, func() bool {
		var err error
		changes, err = w.before.Changes()
		require.NoError(w.t, err)
		return len(changes) == 0
	})
	require.NoError(w.t, err, "the machine changed:\n%s", strings.Join(changes, "\n"))
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// lab runs the lab's program; a command that hangs fails the test.
func lab(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	return finish(t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// fixture is a lab that is up for the length of a test.
type fixture struct {
	t    *testing.T
	name string
}

var count atomic.Int32

func newName() string { return fmt.Sprintf("%s%d", prefix, count.Add(1)) }

func up(t *testing.T, args ...string) *fixture {
	t.Helper()
	c := &fixture{t, newName()}
	t.Cleanup(c.down)
	r := c.lab("up", args...)
	require.Zero(t, r.code, r.err)
	return c
}

// lab runs a command of the lab on this cluster.
func (c *fixture) lab(verb string, args ...string) result {
	c.t.Helper()
	if verb == "down" { // the test's own context has ended when it cleans up
		return finish(c.t, exec.Command(program, "down", "--name", c.name))
	}
	return lab(c.t, append([]string{verb, "--name", c.name}, args...)...)
}

// must runs a command of the lab that has to succeed.
func (c *fixture) must(verb string, args ...string) string {
	c.t.Helper()
	r := c.lab(verb, args...)
	require.Zero(c.t, r.code, "lab %s %v: %s%s", verb, args, r.out, r.err)
	return r.out
}

// user runs a shell command as the user, in the home, and returns its output.
func (c *fixture) user(command string) string {
	c.t.Helper()
	return c.must("run", "--chdir", "/home/user", "--", "bash", "-c", command)
}

// down takes the lab down.
func (c *fixture) down() {
	c.t.Helper()
	r := c.lab("down")
	require.Zero(c.t, r.code, r.err)
}

// found is the lab as its own commands see it.
func (c *fixture) found() *process.Lab {
	c.t.Helper()
	l, err := process.Find(c.name)
	require.NoError(c.t, err)
	return l
}
