package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"slurm-preflight/internal/deadline"
)

// Step describes a step that runs beside the user's own, one task per node.
type Step struct {
	Job Job
	// GPUs is how many each task gets of its node's.
	GPUs int
	// Command is the program and its arguments; the program's path is absolute.
	Command []string
}

// Arguments are srun's. Everything is said, since what is left out is inherited from
// the job or the site: its GPUs (which fails for --gpus-per-task), its number of
// tasks, its CPU binding, and KillOnBadExit, which would end the step that must
// still find the culprit.
func (s Step) Arguments() []string {
	nodes, gres := strconv.Itoa(len(s.Job.Nodes)), "none"
	if s.GPUs > 0 {
		gres = "gpu:" + strconv.Itoa(s.GPUs)
	}
	args := []string{
		"--nodes=" + nodes, "--ntasks=" + nodes, "--ntasks-per-node=1",
		"--overlap", "--overcommit", "--mem=0", "--gres=" + gres, "--cpu-bind=none", "--mpi=none",
		"--export=NONE", "--kill-on-bad-exit=0", "--wait=0", "--chdir=/", "--job-name=preflight",
	}
	return append(append(args, s.place()...), s.Command...)
}

// place says in which job the step runs. A component of a heterogeneous job is
// reached through the first one alone (measured).
func (s Step) place() []string {
	if s.Job.HetLeader == "" {
		return []string{"--jobid=" + s.Job.ID}
	}
	return []string{"--jobid=" + s.Job.HetLeader, "--het-group=" + strconv.Itoa(s.Job.HetOffset)}
}

// Running is a step that was launched.
type Running struct {
	io.WriteCloser // its standard input, which reaches every task
	output         io.Reader
	command        *exec.Cmd
	complaints     complaints
	ended          chan struct{}
	result         error
}

// Launch starts the step. It returns at once; that no task came up shows in Output.
func (s Step) Launch() (*Running, error) {
	command := exec.Command("srun", s.Arguments()...) //nolint:gosec,noctx // no shell, and End ends it in its own way
	command.Env = environment()
	// Out of our process group: a Ctrl-C is ours to handle, srun would only ask for a second one.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = time.Second
	r := &Running{command: command, complaints: complaints{nodes: s.Job.Nodes}, ended: make(chan struct{})}
	command.Stderr = &r.complaints
	var err error
	if r.WriteCloser, err = command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("launch a step: %w", err)
	}
	output, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch a step: %w", err)
	}
	r.output, command.Stdout = output, writer
	err = command.Start()
	closing := writer.Close() // srun has its own; ours would hide its end
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("srun was not found in PATH=%s", os.Getenv("PATH"))
	}
	if err := errors.Join(err, closing); err != nil {
		return nil, errors.Join(fmt.Errorf("launch a step: %w", err), output.Close())
	}
	go func() {
		r.result = command.Wait()
		close(r.ended)
	}()
	return r, nil
}

// Output is what all tasks print, mixed.
func (r *Running) Output() io.Reader { return r.output }

// Words is what srun complained of, in one line: its errors, or all it said
// where it called nothing an error.
func (r *Running) Words() string { return r.complaints.String() }

// Lost are the nodes of which srun says that their task is gone, each with the reason.
func (r *Running) Lost() map[string]string { return r.complaints.lost() }

// Wait waits for srun's own end, after which it says nothing more, and tells how it ended.
func (r *Running) Wait(ctx context.Context) string {
	select {
	case <-r.ended:
		if r.result != nil {
			return "srun ended: " + r.result.Error()
		}
		return "srun ended"
	case <-ctx.Done():
		return "srun still runs"
	}
}

// The waits of End. An srun whose tasks have read the end of their input ends
// by itself, and one whose tasks are killed does so as well. A node that does
// not answer delays scancel by Slurm's MessageTimeout, but the others' tasks
// are dead at once.
const (
	peace = 2 * time.Second
	force = 2 * time.Second
	last  = time.Second
)

// End ends the step by ending its input, where that is not enough by killing
// its tasks, and where they are out of reach by ending srun alone: what then
// comes back to life finds its input closed. id is the step's, JOB.STEP; it is
// empty where nobody knows it.
func (r *Running) End(ctx context.Context, id string) error {
	_ = r.Close() // srun may have ended already
	if r.await(ctx, peace) {
		return nil
	}
	if id != "" && r.cancel(ctx, id) {
		return nil
	}
	_ = r.command.Process.Signal(syscall.SIGTERM)
	if id == "" && r.await(ctx, force) {
		return nil
	}
	_ = r.command.Process.Kill()
	if !r.await(ctx, last) {
		return fmt.Errorf("srun (pid %d) cannot be killed", r.command.Process.Pid)
	}
	return errors.New("a node did not let go of it and srun had to be killed; Slurm ends what is left with the job")
}

// cancel kills the step's tasks; srun ends when the last one is gone.
func (r *Running) cancel(ctx context.Context, id string) bool {
	ctx, stop := context.WithTimeout(ctx, force)
	defer stop()
	scancel := exec.CommandContext(ctx, "scancel", "--signal=KILL", id) //nolint:gosec // a fixed word and a step's id
	scancel.Env = environment()
	scancel.WaitDelay = time.Second
	if scancel.Start() == nil {
		go func() { _ = scancel.Wait() }() // srun's end tells whether it worked
	}
	return r.await(ctx, force)
}

// await waits for srun's end.
func (r *Running) await(ctx context.Context, limit time.Duration) bool {
	patience := deadline.In(limit)
	defer patience.Stop()
	select {
	case <-r.ended:
		return true
	case <-patience.Passed():
	case <-ctx.Done():
	}
	return false
}
