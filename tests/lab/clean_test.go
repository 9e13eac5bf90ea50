package main

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/process"
)

// rounds is how often the tests with random moments and victims strike.
const rounds = 20

// dice prints its seed, with which a failure can be looked at again.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestDownIsContentWithNothing(t *testing.T) {
	machine(t)
	c := &fixture{t, newName()}
	for range 2 {
		require.Equal(t, result{}, c.lab("down"))
	}
	r := c.lab("run", "--", "true")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "lab up --name "+c.name)
}

// TestUpLetsGoOfItsCaller captures the output through a pipe, which must end
// although the lab stays, whatever else the caller had open.
func TestUpLetsGoOfItsCaller(t *testing.T) {
	c := &fixture{t, newName()}
	t.Cleanup(c.down)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(program, "up", "--name", c.name, "--nodes", "1")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = in, in, []*os.File{in, in}
	require.NoError(t, cmd.Start())
	require.NoError(t, in.Close())
	require.NoError(t, out.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
}

func TestUpFails(t *testing.T) {
	w := machine(t)
	c := &fixture{t, newName()}
	for name, want := range map[string]struct {
		conf, message string
	}{
		"controller does not start": {"Nonsense=1", "slurmctld on login said last:"},
		"node does not start":       {"SlurmdUser=nobody", "slurmd on n1 said last:"},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := c.lab("up", "--nodes", "1", "--conf", want.conf)
			require.Equal(t, 1, r.code)
			require.Contains(t, r.err, want.message)
			require.Less(t, time.Since(begin), 10*time.Second, "it need not wait for the deadline")
			require.Empty(t, c.members(), "they were to be gone before it returned")
			w.same()
		})
	}
	for _, wrong := range [][]string{{"--nodes", "0"}, {"--gpus", "99"}, {"--rate", "fast"}, {"--set", "x"}, {"--name", "../x"}} {
		require.Equal(t, 64, lab(t, append([]string{"up"}, wrong...)...).code, wrong)
	}
}

// howLong measures a start, so that random moments cover all of it.
func howLong(t *testing.T, args ...string) time.Duration {
	t.Helper()
	begin := time.Now()
	c := up(t, args...)
	took := time.Since(begin)
	begin = time.Now()
	c.down()
	t.Logf("up %v, down %v", took, time.Since(begin))
	return took
}

// strikeAt begins to bring a lab up and sends a signal to a process of the
// caller's choice after a while. It returns `lab up`, which may still run.
func (c *fixture) strikeAt(after time.Duration, signal unix.Signal, victim func(up int) int, args ...string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(program, append([]string{"up", "--name", c.name}, args...)...)
	require.NoError(c.t, cmd.Start())
	select {
	case <-time.After(after):
	case <-c.t.Context().Done():
	}
	if pid := victim(cmd.Process.Pid); pid > 0 {
		_ = unix.Kill(pid, signal)
	}
	return cmd
}

func itself(up int) int { return up }

// TestUpDies kills `lab up`, or interrupts it, at random moments. If it was
// not ready nothing is left, although nobody runs `lab down`. It may have been
// ready for a moment when it died; but not often.
func TestUpDies(t *testing.T) {
	w := machine(t)
	roll := dice(t)
	args := []string{"--nodes", "2", "--cgroup"}
	took := howLong(t, args...)
	stayed := 0
	for i := range rounds {
		c := &fixture{t, newName()}
		after := time.Duration(roll.Int64N(int64(took)))
		signal := []unix.Signal{unix.SIGKILL, unix.SIGINT, unix.SIGTERM}[i%3]
		if err := c.strikeAt(after, signal, itself, args...).Wait(); err == nil || stays(c.name) {
			c.down()
			if err != nil {
				stayed++
			}
		}
		w.same()
	}
	require.LessOrEqual(t, stayed, 2)
}

// stays says whether a lab stays: one that lost its owner goes at once.
func stays(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	gone := func() bool {
		procs, err := process.Of(name)
		return err == nil && len(procs) == 0
	}
	return process.Eventually(ctx, 10*time.Millisecond, gone) != nil
}

// TestKilledOnTheWayUp kills a random process of a lab, or `lab up` itself, at
// a random moment, and takes the lab down.
func TestKilledOnTheWayUp(t *testing.T) {
	w := machine(t)
	roll := dice(t)
	args := []string{"--nodes", "2", "--cgroup"}
	took := howLong(t, args...)
	for range rounds {
		c := &fixture{t, newName()}
		after := time.Duration(roll.Int64N(int64(took)))
		struck := c.strikeAt(after, unix.SIGKILL, func(up int) int {
			all := append(c.members(), up)
			return all[roll.IntN(len(all))]
		}, args...)
		c.down()
		if struck.Wait() == nil { // it had nothing to do with the victim
			c.down()
		}
		w.same()
	}
}

// TestKilledWhenUp kills a random process of a lab that works, and takes the
// lab down.
func TestKilledWhenUp(t *testing.T) {
	w := machine(t)
	roll := dice(t)
	for range rounds {
		c := up(t, "--nodes", "2", "--cgroup")
		session := exec.Command(program, "run", "--name", c.name, "--chdir", "/", "--", "srun", "-N2", "sleep", "600")
		require.NoError(t, session.Start())
		c.user("while [ -z \"$(squeue -h -t R)\" ]; do sleep 0.02; done")
		all := append(c.members(), session.Process.Pid)
		victim := all[roll.IntN(len(all))]
		require.NoError(t, unix.Kill(victim, unix.SIGKILL), "of %v", all)
		c.down()
		_ = session.Wait()
		w.same()
	}
}

// TestDownStopsUp takes a lab down while it is coming up.
func TestDownStopsUp(t *testing.T) {
	w := machine(t)
	roll := dice(t)
	took := howLong(t)
	for range 5 {
		c := &fixture{t, newName()}
		cmd := exec.Command(program, "up", "--name", c.name)
		require.NoError(t, cmd.Start())
		select {
		case <-time.After(time.Duration(roll.Int64N(int64(took)))):
		case <-t.Context().Done():
		}
		c.down()
		if cmd.Wait() == nil { // it was ready first, or not yet begun
			c.down()
		}
		w.same()
	}
}

// TestDownStopsStuckUp takes a lab down that would never come up.
func TestDownStopsStuckUp(t *testing.T) {
	machine(t)
	c := &fixture{t, newName()}
	cmd := exec.Command(program, "up", "--name", c.name)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return len(c.roles(process.Init)) == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, unix.Kill(c.roles(process.Init)[0].PID, unix.SIGSTOP))
	begin := time.Now()
	c.down()
	require.Less(t, time.Since(begin), 10*time.Second)
	require.Error(t, cmd.Wait())
}

// TestDownEndsTheStopped takes a lab down whose processes do not react.
func TestDownEndsTheStopped(t *testing.T) {
	machine(t)
	c := up(t, "--nodes", "2")
	session := exec.Command(program, "run", "--name", c.name, "--chdir", "/", "--", "sh", "-c", "echo listening; exec sleep 600")
	out, err := session.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, session.Start())
	await(t, bufio.NewReader(out), "listening")
	for _, pid := range append(c.members(), session.Process.Pid) {
		require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	}
	c.down()
	_ = session.Wait()
	require.Equal(t, 137, session.ProcessState.ExitCode(), "its command was killed")
}

// roles lists the lab's processes of a role.
func (c *fixture) roles(role process.Role) []process.Process {
	procs, err := process.Of(c.name)
	require.NoError(c.t, err)
	return slices.DeleteFunc(procs, func(p process.Process) bool { return p.Role != role })
}

// members lists all processes of the lab, daemons and jobs included.
func (c *fixture) members() []int {
	procs, err := process.Of(c.name)
	require.NoError(c.t, err)
	var pids []int
	for _, p := range procs {
		pids = append(pids, p.PID)
		if p.Role == process.Init || p.Role == process.Node {
			inside, _ := process.Members(p.PID) // it may just have ended
			pids = append(pids, inside...)
		}
	}
	return pids
}
