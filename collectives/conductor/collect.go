package conductor

import (
	"context"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
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
	lost   map[string]string // nodes that the launcher has lost, and its words
	ended  bool              // the step ended before all had answered
	halted bool              // all were asked how they are
	alive  map[string]bool   // and so many have said that they are well
}

// complete says that there is a word about every node.
func (a *answers) complete(nodes int) bool {
	good := len(a.by)
	if a.halted {
		good = len(a.alive)
	}
	return good+len(a.failed)+len(a.lost) >= nodes
}

const (
	// halting is how long nodes may take to say how they are, once one has failed. A
	// supervisor answers within a second; only its node's death or a cut link stops it.
	halting = 3 * time.Second
	// farewell is how long the launcher may take to end, once its step has.
	farewell = 2 * time.Second
	// listening is how often the launcher's words are looked at.
	listening = 100 * time.Millisecond
)

// collect waits for an answer of every node. When one fails or the deadline
// passes, all are told to halt, so that those who merely wait are told apart
// from those who are gone.
func (c *conductor) collect(ctx context.Context, phase protocol.Phase, timeout time.Duration) (answers, error) {
	a := answers{
		phase: phase, by: map[string]protocol.Message{}, failed: map[string]protocol.Failed{},
		lost: map[string]string{}, alive: map[string]bool{},
	}
	limit := deadline.In(min(timeout, c.limit.Left()))
	defer limit.Stop()
	c.hear(ctx, &a, limit, func() bool { return len(a.failed)+len(a.lost) > 0 })
	if len(a.by) == len(c.plan.Nodes) {
		return a, nil
	}
	if err := ctx.Err(); err != nil {
		return a, err
	}
	c.halt(ctx, &a)
	return a, c.explain(a)
}

// halt asks all nodes how they are, also those that have answered, since a node
// may have died right after it. Meanwhile the launcher may lose more nodes than the first.
func (c *conductor) halt(ctx context.Context, a *answers) {
	limit := deadline.In(halting)
	defer limit.Stop()
	if !a.ended {
		a.halted = true
		_ = c.out.Send(protocol.Message{Number: c.number, Halt: &protocol.Halt{}}) // where nobody takes it, nobody answers
		c.hear(ctx, a, limit, func() bool { return false })
	}
	if a.ended {
		ctx, cancel := context.WithTimeout(ctx, farewell)
		defer cancel()
		c.step.Wait(ctx)
		c.lose(a)
	}
}

// hear takes in answers until all nodes have answered, enough says so, or time is up.
func (c *conductor) hear(ctx context.Context, a *answers, limit *deadline.Deadline, enough func() bool) {
	look := time.NewTicker(listening)
	defer look.Stop()
	began := time.Now()
	for !a.complete(len(c.plan.Nodes)) && !enough() {
		select {
		case s, open := <-c.heard:
			if !open {
				a.ended = true
				return
			}
			c.take(a, s)
			c.hurry(a, limit, time.Since(began))
		case <-look.C:
			c.lose(a)
		case <-limit.Passed():
			if !c.resumed(ctx) {
				return
			}
			limit.Renew()
		case <-ctx.Done():
			return
		}
	}
}

// take files an answer under its node. Strangers are not listened to, nor are
// answers to an earlier command; a failure is one, whenever it comes.
func (c *conductor) take(a *answers, s said) {
	if _, ours := c.ids[s.node]; !ours {
		c.log.Warn("a message from a node that is not the job's", "node", s.node)
		return
	}
	_, lost := a.lost[s.node]
	_, answered := a.by[s.node]
	failed := s.message.Failed
	switch {
	case failed != nil && (s.message.Number == 0 || s.message.Number == c.number):
		a.failed[s.node] = *failed
		delete(a.by, s.node)
		delete(a.alive, s.node)
		delete(a.lost, s.node) // it explains its end better than the launcher can
	case lost || s.message.Number != c.number:
		c.log.Warn("an answer that is too late", "node", s.node, "number", s.message.Number, "now", c.number)
	case s.message.Alive != nil:
		if _, failed := a.failed[s.node]; !failed {
			a.alive[s.node] = true
		}
	case !answered:
		a.by[s.node] = s.message
	}
}

// lose notes of which nodes the launcher says that they are gone.
func (c *conductor) lose(a *answers) {
	for node, why := range c.step.Lost() {
		if _, failed := a.failed[node]; !failed {
			a.lost[node] = why
			delete(a.by, node)
			delete(a.alive, node)
		}
	}
}

// A straggler may take ten times as long as more than half of the nodes did, and this much more.
const (
	straggle       = 10 * time.Second
	straggleFactor = 10
)

// hurry shortens the wait once more than half of the nodes have answered what
// all do together. Slurm, in contrast, may launch some tasks much later than others.
func (c *conductor) hurry(a *answers, limit *deadline.Deadline, took time.Duration) {
	if a.phase != protocol.PhaseLaunch && 2*len(a.by) > len(c.plan.Nodes) {
		limit.Shorten(straggle + straggleFactor*took)
	}
}

// resumed tells that the nodes were silent because Slurm had suspended the job.
func (c *conductor) resumed(ctx context.Context) bool {
	if c.plan.Suspended == nil || !c.plan.Suspended(ctx) {
		return false
	}
	c.limit.Renew()
	c.gate.Notes = append(c.gate.Notes, "Slurm suspended the job during the gate, whose deadlines began anew when it went on")
	return true
}
