package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

// said is a message and the node that sent it.
type said struct {
	node    string
	message protocol.Message
}

// listen turns the step's output into messages. The channel is closed with the step.
func listen(in *protocol.Reader) <-chan said {
	heard := make(chan said)
	go func() {
		defer close(heard)
		for {
			node, message, err := in.Next()
			if err != nil {
				return
			}
			heard <- said{node, message}
		}
	}()
	return heard
}

// answers is what was heard in one phase.
type answers struct {
	phase  protocol.Phase
	by     map[string]protocol.Message // good answers
	failed map[string]protocol.Failed
	ended  bool // the step ended before all had answered
	late   bool // the deadline passed
}

// halting is how long nodes may take to say that they wait, once one has failed.
// A supervisor answers at once; only its node's death or a cut link stops it.
const halting = 2 * time.Second

// collect waits for an answer of every node. When one fails or the deadline
// passes, the others are told to halt, so that those who merely wait are told
// apart from those who are gone.
func (c *conductor) collect(ctx context.Context, phase protocol.Phase, timeout time.Duration) (answers, error) {
	a := answers{phase: phase, by: map[string]protocol.Message{}, failed: map[string]protocol.Failed{}}
	c.hear(ctx, &a, timeout, func() bool { return len(a.failed) > 0 })
	if len(a.by) == len(c.plan.Nodes) {
		return a, nil
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return a, err
	}
	if !a.ended && phase != protocol.PhaseLaunch {
		if err := c.out.Send(protocol.Message{Halt: &protocol.Halt{}}); err == nil {
			c.hear(context.WithoutCancel(ctx), &a, halting, func() bool { return false })
		}
	}
	return a, c.explain(a)
}

// hear takes in answers until all nodes have answered, enough says so, or time is up.
func (c *conductor) hear(ctx context.Context, a *answers, timeout time.Duration, enough func() bool) {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for len(a.by)+len(a.failed) < len(c.plan.Nodes) && !enough() {
		select {
		case s, open := <-c.heard:
			if !open {
				a.ended = true
				return
			}
			c.take(a, s)
		case <-deadline.C:
			a.late = true
			return
		case <-ctx.Done():
			a.late = true
			return
		}
	}
}

// take files an answer under its node; strangers are not listened to.
func (c *conductor) take(a *answers, s said) {
	if _, ours := c.ids[s.node]; !ours {
		c.log.Warn("a message from a node that is not the job's", "node", s.node)
		return
	}
	if s.message.Failed != nil {
		a.failed[s.node] = *s.message.Failed
		return
	}
	a.by[s.node] = s.message
}

// explain turns an incomplete phase into an error and its suspects. A node that
// is gone is a suspect; among those that answer, only one that failed where all
// others merely waited.
func (c *conductor) explain(a answers) error {
	silent := c.nodes(func(node string) bool {
		_, answered := a.by[node]
		_, failed := a.failed[node]
		return !answered && !failed
	})
	broken := c.nodes(func(node string) bool { f, failed := a.failed[node]; return failed && !f.Halted })
	phase := a.phase
	for _, node := range broken {
		if a.failed[node].Phase == protocol.PhaseLoad {
			return fmt.Errorf("%w: %s: %s", ErrUnavailable, node, a.failed[node].Error)
		}
	}
	if len(silent) == len(c.plan.Nodes) && phase == protocol.PhaseLaunch {
		return fmt.Errorf("%w: no node answered: %s", ErrUnavailable, c.launchWords(a))
	}
	for _, node := range silent {
		c.suspect(node, phase, silence(a))
	}
	if len(silent) == 0 && 2*len(broken) < len(c.plan.Nodes) {
		for _, node := range broken {
			c.suspect(node, phase, a.failed[node].Error)
		}
	}
	return unfit{c.reason(a, silent, broken)}
}

func (c *conductor) nodes(is func(node string) bool) []string {
	return slices.DeleteFunc(slices.Clone(c.plan.Nodes), func(node string) bool { return !is(node) })
}

func (c *conductor) suspect(node string, phase protocol.Phase, why string) {
	c.gate.Suspects = append(c.gate.Suspects, report.Suspect{Node: node, Phase: string(phase), Why: why})
}

func silence(a answers) string {
	if a.ended {
		return "it was gone when the step ended"
	}
	return "it did not answer, while others did"
}

// reason is the failure as one sentence.
func (c *conductor) reason(a answers, silent, broken []string) error {
	what := map[protocol.Phase]string{
		protocol.PhaseLaunch: "starting the gate",
		protocol.PhaseInit:   "connecting the ranks",
		protocol.PhaseRun:    "running the collective",
	}[a.phase]
	switch {
	case len(silent) > 0:
		return fmt.Errorf("%s failed: %s did not answer", what, list(silent))
	case len(broken) > 0:
		return fmt.Errorf("%s failed: %s says: %s", what, broken[0], a.failed[broken[0]].Error)
	default:
		return fmt.Errorf("%s was not finished in time by any node", what)
	}
}

// launchWords explains a step of which nothing was heard.
func (c *conductor) launchWords(a answers) string {
	if words := c.step.Words(); words != "" {
		return words
	}
	if a.ended {
		return "the step ended without a word"
	}
	return "the step did not start in time"
}

// list names a few of many nodes.
func list(nodes []string) string {
	const most = 8
	if len(nodes) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(nodes[:most], ", "), len(nodes)-most)
	}
	return strings.Join(nodes, ", ")
}
