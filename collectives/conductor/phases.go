package conductor

import (
	"context"
	"fmt"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

// How long the phases may take. Slurm launches a step in half a second, and
// libraries load in seconds; joining grows with the number of ranks (NCCL's
// bootstrap is a ring), and a rank that hangs never comes back.
const (
	launchTimeout  = 60 * time.Second
	joinTimeout    = 30 * time.Second
	joinPerRank    = 100 * time.Millisecond
	runTimeout     = 60 * time.Second
	runPerEstimate = 4
	answerGrace    = 4 * time.Second // beyond the ranks' own deadline
	mostAttempts   = 3               // at a measurement that pauses interrupt
)

// greet waits for the supervisors' hellos and compares them.
func (c *conductor) greet(ctx context.Context) (map[string]protocol.Message, error) {
	heard, err := c.collect(ctx, protocol.PhaseLaunch, launchTimeout)
	c.phase(string(protocol.PhaseLaunch))
	if err != nil {
		return nil, err
	}
	first := heard.by[c.plan.Nodes[0]].Hello
	for _, node := range c.plan.Nodes {
		hello := heard.by[node].Hello
		switch {
		case hello == nil || hello.Ranks < 1 || hello.NodeID != c.ids[node]:
			return nil, fmt.Errorf("%w: %s greeted in a way that this version does not understand: is preflight-worker the same on all nodes?", ErrUnavailable, node)
		case hello.Library.Version != first.Library.Version || hello.Library.Name != first.Library.Name:
			return nil, fmt.Errorf("%w: %s has %s %s (%s), but %s has %s %s (%s): all nodes need the same version", ErrUnavailable,
				node, hello.Library.Name, hello.Library.Version, hello.Library.Path,
				c.plan.Nodes[0], first.Library.Name, first.Library.Version, first.Library.Path)
		}
	}
	if len(first.UID) == 0 {
		return nil, fmt.Errorf("%w: %s made no unique id", ErrUnavailable, c.plan.Nodes[0])
	}
	c.gate.Library, c.stepID = report.Library(first.Library), first.Step
	return heard.by, nil
}

// join builds one communicator over all ranks and returns their number.
func (c *conductor) join(ctx context.Context, hellos map[string]protocol.Message) (int, error) {
	ranks := 0
	first := make([]int, len(c.plan.Nodes))
	for id, node := range c.plan.Nodes {
		first[id] = ranks
		ranks += hellos[node].Hello.Ranks
	}
	timeout := c.remaining(joinTimeout + time.Duration(ranks)*joinPerRank)
	init := &protocol.Init{UID: hellos[c.plan.Nodes[0]].Hello.UID, Ranks: ranks, First: first, Timeout: timeout}
	c.command(protocol.Message{Init: init})
	_, err := c.collect(ctx, protocol.PhaseInit, timeout+answerGrace)
	c.phase(string(protocol.PhaseInit))
	return ranks, err
}

// run lets all ranks run iterations, and again where a pause fell into them: a
// time in which a node was stopped says nothing of the network.
func (c *conductor) run(ctx context.Context, run protocol.Run, phase protocol.Phase, name string) (map[string]protocol.Result, error) {
	for range mostAttempts {
		results, err := c.attempt(ctx, run, phase, name)
		if err != nil {
			return nil, err
		}
		paused := c.nodes(func(node string) bool { return results[node].Paused > 0 })
		if len(paused) == 0 {
			return results, nil
		}
		c.gate.Notes = append(c.gate.Notes, fmt.Sprintf("the %s of %s was done again, because %s stood still for %s meanwhile",
			phase, name, list(paused), results[paused[0]].Paused.Round(100*time.Millisecond)))
		c.limit.Renew()
	}
	return nil, fmt.Errorf("%w: the %s of %s was interrupted %d times by nodes that stood still", ErrUnavailable, phase, name, mostAttempts)
}

func (c *conductor) attempt(ctx context.Context, run protocol.Run, phase protocol.Phase, name string) (map[string]protocol.Result, error) {
	run.Timeout = c.remaining(run.Timeout)
	c.command(protocol.Message{Run: &run})
	heard, err := c.collect(ctx, phase, run.Timeout+answerGrace)
	c.phase(string(phase) + " of " + name)
	if err != nil {
		return nil, err
	}
	results := map[string]protocol.Result{}
	for node, message := range heard.by {
		if message.Result == nil {
			return nil, fmt.Errorf("%w: %s answered a run in a way that this version does not understand", ErrUnavailable, node)
		}
		results[node] = *message.Result
	}
	return results, nil
}

// remaining cuts a phase's time to what the whole gate has left, less the time
// in which the ranks' own words about their failure arrive.
func (c *conductor) remaining(timeout time.Duration) time.Duration {
	return max(min(timeout, c.limit.Left()-answerGrace), time.Second)
}
