package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Lab is a cluster of four nodes for one test.
type Lab struct {
	t    *testing.T
	name string
	dir  string // all hosts share it, and everybody may write to it
	// hosts are the first processes of hosts that have been looked up.
	hosts map[string]int
}

// Up starts a lab, and ends it with the test.
func Up(t *testing.T, flags ...string) Lab {
	t.Helper()
	l := Lab{t: t, hosts: map[string]int{}, name: fmt.Sprintf("fault-%d-%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() {
		out, err := exec.Command(program(), "down", "--name", l.name).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.RemoveAll(l.dir))
	})
	var err error
	l.dir, err = os.MkdirTemp("", "preflight-fault-") //nolint:usetesting // the test's own directories are closed to the job's user
	require.NoError(t, err)
	require.NoError(t, os.Chmod(l.dir, 0o777))
	l.Do("up", flags...)
	for _, host := range Hosts() {
		_, err := l.first(host) // so that it is known when time matters
		require.NoError(t, err)
	}
	return l
}

func program() string {
	path, err := filepath.Abs(filepath.Join("..", "..", "build", "bin", "lab"))
	if err != nil {
		panic(err)
	}
	return path
}

// Do runs a subcommand of lab.
func (l Lab) Do(subcommand string, args ...string) {
	l.t.Helper()
	out, err := l.lab(append([]string{subcommand, "--name", l.name}, args...)...)
	require.NoError(l.t, err, "lab %s %v: %s", subcommand, args, out)
}

// Run runs a command on the login host as an ordinary user, and returns its output and exit code.
func (l Lab) Run(command ...string) (string, int) { return l.run(nil, command) }

// Root runs a command on the login host as root.
func (l Lab) Root(command ...string) (string, int) { return l.run([]string{"--root"}, command) }

func (l Lab) run(flags, command []string) (string, int) {
	l.t.Helper()
	args := append([]string{"run", "--name", l.name}, flags...)
	out, err := l.lab(append(append(args, "--"), command...)...)
	if err == nil {
		return out, 0
	}
	var exit *exec.ExitError
	require.ErrorAs(l.t, err, &exit, "%v: %s", command, out)
	return out, exit.ExitCode()
}

func (l Lab) lab(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(), args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = l.dir // the clone may be closed to the user, of which lab would speak
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Eventually waits for something that takes its time.
func (l Lab) Eventually(limit time.Duration, condition func() bool, message string, args ...any) {
	l.t.Helper()
	l.poll(limit, 100*time.Millisecond, condition, message, args...)
}

// catch waits for a moment that does not last.
func (l Lab) catch(condition func() bool, message string, args ...any) {
	l.t.Helper()
	l.poll(appearing, 2*time.Millisecond, condition, message, args...)
}

func (l Lab) poll(limit, interval time.Duration, condition func() bool, message string, args ...any) {
	l.t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			require.Fail(l.t, fmt.Sprintf(message, args...))
		}
	}
}

// States lists the states that nodes are in.
func (l Lab) States() string {
	out, code := l.Run("sh", "-c", "sinfo --noheader --format %T | sort -u | tr '\\n' ' '")
	require.Zero(l.t, code, out)
	return strings.TrimSpace(out)
}

// Idle asserts that nothing of any gate is left and all nodes wait for work.
func (l Lab) Idle(limit time.Duration) {
	l.t.Helper()
	l.Eventually(limit, func() bool { return len(l.Left(Hosts()...)) == 0 && l.States() == "idle" },
		"the cluster does not come to rest: nodes are %v, and of gates is left %v",
		later(l.States), later(func() string { return strings.Join(l.Left(Hosts()...), ", ") }))
}

// later is a value that is asked for when it is printed.
type later func() string

func (l later) String() string { return l() }
