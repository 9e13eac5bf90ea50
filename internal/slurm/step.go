package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Step describes a step that runs beside the user's own, one task per node.
type Step struct {
	Job Job
	// Command is the program and its arguments; the program's path is absolute.
	Command []string
}

// args are srun's. Everything is said, since what is left out is inherited from
// the job or the site: its GPUs (which fails for --gpus-per-task), its number of
// tasks, its CPU binding, and KillOnBadExit, which would end the step that must
// still find the culprit.
func (s Step) args() []string {
	nodes := strconv.Itoa(len(s.Job.Nodes))
	args := []string{
		"--nodes=" + nodes, "--ntasks=" + nodes, "--ntasks-per-node=1",
		"--overlap", "--overcommit", "--mem=0", "--gres=none", "--cpu-bind=none", "--mpi=none",
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
	words          words
	ended          chan struct{}
	result         error
}

// Launch starts the step. It returns at once; that no task came up shows in Output.
func (s Step) Launch() (*Running, error) {
	command := exec.Command("srun", s.args()...) //nolint:gosec,noctx // no shell, and End ends it in its own way
	command.Env = environment()
	// Out of our process group: a Ctrl-C is ours to handle, srun would only ask for a second one.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = time.Second
	r := &Running{command: command, ended: make(chan struct{})}
	command.Stderr = &r.words
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
func (r *Running) Words() string {
	var all, faults []string
	for line := range strings.Lines(r.words.String()) {
		line = oneLine(line)
		all = append(all, line)
		if strings.Contains(line, "error:") {
			faults = append(faults, line)
		}
	}
	if len(faults) > 0 {
		return strings.Join(faults, "; ")
	}
	return strings.Join(all, "; ")
}

// The waits of End. An srun whose tasks have read the end of their input ends
// by itself; one that is told to terminate kills them first.
const (
	peace = 2 * time.Second
	force = time.Second
)

// End ends the step by ending its input, and where that is not enough by ending srun.
func (r *Running) End(ctx context.Context) error {
	_ = r.Close() // srun may have ended already
	if r.await(ctx, peace) {
		return nil
	}
	_ = r.command.Process.Signal(syscall.SIGTERM)
	if r.await(ctx, force) {
		return nil
	}
	_ = r.command.Process.Kill()
	if !r.await(ctx, force) {
		return fmt.Errorf("srun (pid %d) cannot be killed", r.command.Process.Pid)
	}
	return errors.New("srun had to be killed; Slurm ends what is left with the job")
}

// await waits for srun's end.
func (r *Running) await(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// words keeps the beginning of what srun says, which names the cause; what
// follows are usually consequences.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxWords = 2048

func (w *words) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := maxWords - w.text.Len()
	w.text.Write(text[:min(len(text), room)])
	return len(text), nil
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ToValidUTF8(w.text.String(), "?")
}
