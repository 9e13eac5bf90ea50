// Package e2e holds the end-to-end tests: what a user sees of the gate on a real
// Slurm cluster, the lab. They need `make build` and root.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program is a program of the build tree.
func program(name string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "build", "bin", name))
	if err != nil {
		panic(err)
	}
	return path
}

// lab is one running cluster.
type lab struct {
	t    *testing.T
	name string
}

// startLab starts a cluster of four nodes on which allreduce has a floor that
// 200 Mbit/s does not reach, and ends it with the test.
func startLab(t *testing.T, flags ...string) lab {
	t.Helper()
	l := lab{t: t, name: fmt.Sprintf("e2e-%d-%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() {
		out, err := exec.Command(program("lab"), "down", "--name", l.name).CombinedOutput()
		require.NoError(t, err, string(out))
	})
	flags = append([]string{"--set", "gate.min.allreduce=0.08", "--set", "gate.time=300ms"}, flags...)
	l.must("up", flags...)
	return l
}

// must runs a subcommand of lab and expects it to succeed.
func (l lab) must(subcommand string, args ...string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	args = append([]string{subcommand, "--name", l.name}, args...)
	out, err := exec.CommandContext(ctx, program("lab"), args...).CombinedOutput()
	require.NoError(l.t, err, "lab %v: %s", args, out)
}

// ran is how a command ended.
type ran struct {
	out, err string
	code     int
	took     time.Duration
}

// run runs a command as an ordinary user on the login host.
func (l lab) run(command ...string) ran { return l.start(nil, command...)() }

// root runs a command as root on the login host, or on a node.
func (l lab) root(node string, command ...string) ran {
	flags := []string{"--root"}
	if node != "" {
		flags = append(flags, "--node", node)
	}
	return l.begin(flags, nil, command)()
}

// start starts a user's command with this input; the function that it returns waits for its end.
func (l lab) start(input io.Reader, command ...string) func() ran {
	return l.begin(nil, input, command)
}

func (l lab) begin(flags []string, input io.Reader, command []string) func() ran {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	args := append([]string{"run", "--name", l.name}, flags...)
	cmd := exec.CommandContext(ctx, program("lab"), append(append(args, "--"), command...)...)
	cmd.WaitDelay = time.Second
	cmd.Stdin = input
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	began := time.Now()
	require.NoError(l.t, cmd.Start())
	return func() ran {
		l.t.Helper()
		defer cancel()
		failure := cmd.Wait()
		require.NoError(l.t, ctx.Err(), "%v did not end: %s%s", command, out.String(), err.String())
		var exit *exec.ExitError
		if failure != nil && !errors.As(failure, &exit) {
			require.NoError(l.t, failure)
		}
		return ran{out: out.String(), err: err.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(began)}
	}
}

// job is a batch job that was submitted.
type job struct {
	lab
	id, output string
}

// submit hands a script to sbatch, its output in a file of its own.
func (l lab) submit(script string, flags ...string) job {
	l.t.Helper()
	dir := l.directory()
	path := filepath.Join(dir, "job.sh")
	require.NoError(l.t, os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o755))
	args := append([]string{"sbatch", "--parsable", "--output", dir + "/out", "--chdir", dir}, flags...)
	r := l.run(append(args, path)...)
	require.Zero(l.t, r.code, r.err)
	return job{lab: l, id: strings.TrimSpace(r.out), output: dir + "/out"}
}

// show is what scontrol knows of the job.
func (j job) show(key string) string {
	j.t.Helper()
	r := j.run("scontrol", "show", "job", j.id)
	require.Zero(j.t, r.code, r.err)
	for field := range strings.FieldsSeq(r.out) {
		if value, ok := strings.CutPrefix(field, key+"="); ok {
			return value
		}
	}
	return ""
}

// await waits until the job has ended and returns its state, exit code and output.
func (j job) await() (state, exit, output string) {
	j.t.Helper()
	j.eventually(30*time.Second, func() bool {
		state = j.show("JobState")
		return state != "PENDING" && state != "RUNNING" && state != "COMPLETING"
	}, "job %s did not end", j.id)
	return state, j.show("ExitCode"), j.text()
}

func (j job) text() string {
	text, err := os.ReadFile(j.output)
	require.NoError(j.t, err)
	return string(text)
}

// eventually polls a condition of the cluster.
func (l lab) eventually(limit time.Duration, condition func() bool, message string, args ...any) {
	l.t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(50 * time.Millisecond) {
		require.True(l.t, time.Now().Before(deadline), message, args)
	}
}

// idle asserts that every node is idle and undrained, and that nothing of ours runs anywhere.
func (l lab) idle(limit time.Duration) {
	l.t.Helper()
	l.eventually(limit, func() bool {
		return l.states() == "idle" && l.processes("preflight") == "" && l.processes("srun") == ""
	}, "the cluster does not come to rest")
}

// states lists the states that nodes are in.
func (l lab) states() string {
	r := l.run("sh", "-c", "sinfo --noheader --format %T | sort -u | tr '\\n' ' '")
	require.Zero(l.t, r.code, r.err)
	return strings.TrimSpace(r.out)
}

// processes lists the lab's processes whose name begins so, on all its hosts.
func (l lab) processes(name string) string {
	r := l.root("", "sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null | grep -x '"+name+".*'")
	return strings.TrimSpace(r.out)
}
