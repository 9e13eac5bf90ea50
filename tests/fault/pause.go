package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurm-preflight/internal/report"
)

// Pause makes a gate stand still for a while.
type Pause struct {
	Name       string
	begin, end func(l Lab, job string)
}

// Pauses are all of them.
func Pauses() []Pause {
	return []Pause{
		{"suspended", scontrol("suspend"), scontrol("resume")},
		{"stopped", everywhere(unix.SIGSTOP), everywhere(unix.SIGCONT)},
	}
}

func scontrol(word string) func(Lab, string) {
	return func(l Lab, job string) {
		out, code := l.Root("scontrol", word, job)
		require.Zero(l.t, code, out)
	}
}

func everywhere(signal unix.Signal) func(Lab, string) {
	return func(l Lab, _ string) {
		for _, host := range Hosts() {
			for pid := range l.processes(host) {
				_ = unix.Kill(pid, signal) // it may have ended
			}
		}
	}
}

// PauseLength is longer than any deadline of the gate.
const PauseLength = timeout + 5*time.Second

// Start is how a job with a gate is started.
type Start string

// The starts: the conductor runs on a node, which is suspended with the job, or on the login host.
const (
	Batch Start = "sbatch"
	Login Start = "srun"
)

// Interrupt lets a gate stand still from the moment on that it has sent so many
// messages, and returns its report. The user's code must have run then.
func Interrupt(t *testing.T, start Start, pause Pause, messages float64) report.Gate {
	t.Helper()
	l := Up(t, Slow()...)
	spec := Spec()
	done := make(chan string, 1)
	job := Job{Lab: l}
	if start == Batch {
		job = l.Submit(spec, "--no-requeue")
	} else {
		go func() {
			out, _ := l.lab("run", "--name", l.name, "--", "srun", "-N4", "--nccl-validate="+spec+",report="+l.dir+"/gate.json", "echo", UserCode)
			done <- out
		}()
		l.catch(func() bool {
			out, _ := l.Run("squeue", "--noheader", "--format=%i")
			job.ID = strings.TrimSpace(out)
			return job.ID != ""
		}, "no job")
	}
	l.sends(uint64(messages * perIter))
	pause.begin(l, job.ID)
	time.Sleep(PauseLength)
	pause.end(l, job.ID)
	l.Eventually(bound, func() bool { _, written := job.Report(); return written }, "the gate hangs")
	l.Idle(time.Minute)
	gate, _ := job.Report()
	output := job.Output()
	if start == Login {
		output = <-done
	}
	require.Contains(t, output, UserCode)
	return gate
}
