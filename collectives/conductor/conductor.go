// Package conductor leads one run of the gate: it launches the supervisors as a
// step of the job, takes them through their phases, and says what was measured
// or who failed. It knows no C and no Slurm; the step is handed to it.
package conductor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
	"slurm-preflight/internal/report"
)

// Step is a running step of supervisors, one per node.
type Step interface {
	// Write reaches every supervisor.
	io.Writer
	// Output is what all supervisors say, mixed with whatever else prints there.
	Output() io.Reader
	// Words is what the launcher complained of, in one line.
	Words() string
	// Lost are the nodes of which the launcher says that they are gone from the step, and why.
	Lost() map[string]string
	// Wait waits for the launcher's own end, after which it says nothing more, and tells how it ended.
	Wait(ctx context.Context) string
	// End ends the step within ctx, in peace if it can, and tells when nothing
	// of it is left. id is its name in the hellos; empty where none came.
	End(ctx context.Context, id string) error
}

// Plan is what to measure, and where.
type Plan struct {
	// Nodes are the job's nodes in the order of their node ids.
	Nodes []string
	Ops   []collectives.Op
	// Sizes are the message sizes of each collective in bytes; the last is judged.
	Sizes  []int64
	Warmup int
	Iters  int
	// Time ends the timed iterations of one message early.
	Time time.Duration
	// Timeout bounds everything from launch to verdict.
	Timeout time.Duration
	// Floor gives the floor of a collective and its source; 0 for none.
	Floor func(op collectives.Op) (collectives.GBps, string)
	// Suspended reports whether the job was suspended since this was asked last,
	// and returns when it goes on. It is asked before silence is called a fault.
	Suspended func(ctx context.Context) bool
}

// ErrUnavailable marks a gate that could not measure, as opposed to one that found unfit nodes.
var ErrUnavailable = errors.New("the gate could not measure")

// unfit is a failure of the nodes themselves.
type unfit struct{ error }

// conductor is one run.
type conductor struct {
	plan  Plan
	step  Step
	nonce string
	log   *slog.Logger
	out   *protocol.Writer
	heard <-chan said
	ids   map[string]int // node id by name
	gate  *report.Gate
	begun time.Time
	limit *deadline.Deadline // of the whole gate
	// number is the last command's; answers to earlier ones are too late to mean anything.
	number int
	stepID string
}

// Run measures and fills in the gate's verdict, results, suspects and phases.
// Launch starts a step whose supervisors use nonce. The step is ended when Run returns.
func Run(ctx context.Context, plan Plan, gate *report.Gate, nonce string, log *slog.Logger, launch func() (Step, error)) {
	c := &conductor{plan: plan, nonce: nonce, gate: gate, log: log, ids: map[string]int{}}
	for id, node := range plan.Nodes {
		c.ids[node] = id
	}
	gate.Nodes = plan.Nodes
	c.limit = deadline.In(plan.Timeout)
	defer c.limit.Stop()
	err := c.conduct(ctx, launch)
	switch {
	case ctx.Err() != nil:
		gate.Verdict, gate.Reason = report.Cancelled, "the gate was cancelled"
	case errors.As(err, &unfit{}):
		gate.Verdict, gate.Reason = report.Fail, err.Error()
	case err != nil:
		gate.Verdict, gate.Reason = report.Error, err.Error()
	default:
		gate.Verdict = collectives.Judge(gate.Results)
	}
}

// conduct goes through the phases; each ends in an answer of every node or an error.
func (c *conductor) conduct(ctx context.Context, launch func() (Step, error)) error {
	c.begun = time.Now()
	var err error
	if c.step, err = launch(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer c.end()
	c.out = protocol.NewWriter(c.step, c.nonce, "conductor")
	c.heard = listen(protocol.NewReader(c.step.Output(), c.nonce, c.log))
	hellos, err := c.greet(ctx)
	if err != nil {
		return err
	}
	ranks, err := c.join(ctx, hellos)
	if err != nil {
		return err
	}
	messages, err := c.messages(ranks)
	if err != nil {
		return err
	}
	for i, m := range messages {
		if err := c.measure(ctx, m, len(messages)-i); err != nil {
			return err
		}
	}
	return nil
}

// command tells all supervisors what to do. A step that takes no commands any
// more has ended, and its output's end says more than a broken pipe.
func (c *conductor) command(message protocol.Message) {
	c.number++
	message.Number = c.number
	if err := c.out.Send(message); err != nil {
		c.log.Warn("the step takes no commands", "error", err)
	}
}

// phase notes how long a phase took, and begins the next.
func (c *conductor) phase(name string) {
	now := time.Now()
	c.gate.Phases = append(c.gate.Phases, report.Phase{Name: name, Seconds: now.Sub(c.begun).Seconds()})
	c.begun = now
}

// endTimeout bounds the end of the step. It does not hang on the gate's own
// deadline or cancellation: nothing may be left when the job goes on.
const endTimeout = 8 * time.Second

func (c *conductor) end() {
	c.begun = time.Now()
	_ = c.out.Send(protocol.Message{Quit: &protocol.Quit{}}) // a step that is gone has quit already
	go func() {
		for range c.heard { // a step whose output nobody reads cannot end
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	if err := c.step.End(ctx, c.stepID); err != nil {
		c.gate.Notes = append(c.gate.Notes, "the gate's own step did not end cleanly: "+err.Error())
	}
	c.phase("end")
}
