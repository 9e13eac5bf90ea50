package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/process"
)

// groupPatience is how long a signal to a group may take to reach all in it.
const groupPatience = 10 * time.Millisecond

// group tells a signal that was sent to the whole process group, as a terminal
// does, from one that was sent to this process alone. The command has got the
// former already, being in the group; a second one would be too much: srun
// takes two interrupts for an order to give up at once.
//
// Go's runtime does not say where a signal came from, nor does it leave one
// blocked. So a bystander in the group does nothing but keep its signals
// pending, where all can see them.
type group struct{ bystander *exec.Cmd }

// watchGroup starts a bystander. The caller has locked its thread.
func watchGroup() (*group, error) {
	g := &group{exec.CommandContext(context.Background(), "sleep", "infinity")}
	g.bystander.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, mask(), &before); err != nil {
		return nil, fmt.Errorf("blocking signals: %w", err)
	}
	err := g.bystander.Start() // it inherits what this thread blocks
	if undo := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); undo != nil {
		return nil, fmt.Errorf("unblocking signals: %w", undo)
	}
	if err != nil {
		return nil, fmt.Errorf("watching the process group: %w", err)
	}
	return g, nil
}

func (g *group) close() {
	_ = g.bystander.Process.Kill()
	_ = g.bystander.Wait()
}

// forward passes a signal on, unless the whole group got it.
func (g *group) forward(got os.Signal, to *os.Process) error {
	number, _ := got.(syscall.Signal)
	ctx, cancel := context.WithTimeout(context.Background(), groupPatience)
	defer cancel()
	if process.Eventually(ctx, time.Millisecond, func() bool { return g.saw(number) }) != nil {
		_ = to.Signal(got) // it may just have ended
		return nil
	}
	next, err := watchGroup() // this one's signals stay pending for ever
	if err != nil {
		return err
	}
	g.close()
	*g = *next
	return nil
}

// saw says whether the bystander has got a signal.
func (g *group) saw(number syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.bystander.Process.Pid))
	if err != nil {
		return false
	}
	return pending(string(status))&(1<<(uint(number)-1)) != 0
}

// pending is the set of signals that wait for a process as a whole.
func pending(status string) uint64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			set, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return set
		}
	}
	return 0
}

func mask() *unix.Sigset_t {
	var set unix.Sigset_t
	for _, s := range forwarded {
		number, _ := s.(syscall.Signal)
		bit := uint(number) - 1
		set.Val[bit/64] |= 1 << (bit % 64)
	}
	return &set
}
