package fault

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurm-preflight/internal/report"
)

// Outcome is what came of a case.
type Outcome struct {
	Exit     string // Slurm's, as 75:0
	Verdict  report.Verdict
	Suspects []string // NODE PHASE
	Reason   string
	Notes    []string
	Output   string
	// Took is from the conductor's start to its end.
	Took time.Duration
	// Left is what of the gate was left on the hosts that the fault did not hit.
	Left []string
}

// String is the outcome as one line of a table.
func (o Outcome) String() string {
	return fmt.Sprintf("exit %s | %s | %s | %.1f s | %s %v", o.Exit, o.Verdict, strings.Join(o.Suspects, ", "), o.Took.Seconds(), o.Reason, o.Notes)
}

// Possible says that what breaks can be there at the moment.
func Possible(fault Fault, moment Moment) bool {
	return moment.Name != beforeAll || !fault.needsStep
}

// attempts is how often a case is set up anew because the gate was faster.
const attempts = 5

// Drive starts a gate, strikes at the moment, waits until the gate has ended
// and nothing is left of it, and checks what came of it.
func Drive(t *testing.T, fault Fault, moment Moment) Outcome {
	t.Helper()
	for range attempts {
		if outcome, hit := drive(t, fault, moment); hit && !outcome.later(moment) {
			outcome.check(t, fault, moment)
			return outcome
		}
	}
	require.Fail(t, fmt.Sprintf("the gate was too fast, %d times", attempts))
	return Outcome{}
}

// drive is one attempt, which hits the moment or not.
func drive(t *testing.T, fault Fault, moment Moment) (outcome Outcome, hit bool) {
	t.Helper()
	// Slurm itself must not notice that a node is gone before the gate does.
	l := Up(t, append(Slow(), "--conf", "SlurmdTimeout=300")...)
	defer l.Do("down")
	job := l.Submit(Spec(), "--no-requeue")
	conductor, began := l.appears(batchHost, Conductor), time.Now()
	release, hit := moment.reach(l, conductor, fault)
	if hit {
		fault.strike(l)
	}
	release()
	if !hit {
		return Outcome{}, false
	}
	return l.settle(job, fault, conductor, began), true
}

// bound is by when a gate has ended: after its own deadline the nodes are asked
// how they are, and the step is ended. The rest is for a busy machine.
const bound = timeout + 3*time.Second + 8*time.Second + 8*time.Second

func (l Lab) settle(job Job, fault Fault, conductor int, began time.Time) Outcome {
	l.t.Helper()
	l.poll(bound, 10*time.Millisecond, func() bool { return unix.Kill(conductor, 0) != nil }, "the gate hangs")
	o := Outcome{Took: time.Since(began)}
	var unharmed []string
	for _, host := range Hosts() {
		if host != Victim || fault.Role != "" {
			unharmed = append(unharmed, host)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if o.Left = l.Left(unharmed...); len(o.Left) == 0 {
			break
		}
	}
	if fault.undo != nil {
		fault.undo(l)
	}
	l.Idle(2 * time.Minute) // Slurm asks a node that was away only every minute
	if gate, written := job.Report(); written {
		o.Verdict, o.Reason, o.Notes = gate.Verdict, gate.Reason, gate.Notes
		for _, suspect := range gate.Suspects {
			o.Suspects = append(o.Suspects, suspect.Node+" "+suspect.Phase)
			require.Contains(l.t, job.Output(), "preflight: suspect "+suspect.Node+" ("+suspect.Phase+")", "the table names it as well")
		}
	}
	o.Exit, o.Output = job.Show("ExitCode"), job.Output()
	return o
}
