package conductor

import (
	"context"
	"fmt"
	"time"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

// How long the phases may take. Slurm launches a step in half a second, and
// libraries load in seconds; joining grows with the number of ranks (NCCL's
// bootstrap is a ring), and a rank that hangs never comes back.
const (
	launchTimeout   = 60 * time.Second
	joinTimeout     = 30 * time.Second
	joinPerRank     = 100 * time.Millisecond
	runTimeout      = 60 * time.Second
	runPerEstimate  = 4
	answerGrace     = 4 * time.Second // beyond the ranks' own deadline
	leastIterations = 3               // a median of fewer is none
	mostAttempts    = 3               // at a measurement that pauses interrupt
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

// measure warms a collective up, then times as many iterations as fit.
func (c *conductor) measure(ctx context.Context, op collectives.Op, ranks int) error {
	_, bytes := op.Count(c.plan.Bytes)
	// Nobody knows yet how slow the network is. What is slow but alive may use
	// half of the gate's time, so that as much is left for the measurement.
	run := protocol.Run{Op: string(op), Bytes: bytes, Iterations: max(c.plan.Warmup, 1), Timeout: max(runTimeout, c.limit.Left()/2)}
	warm, err := c.run(ctx, run, protocol.PhaseWarmup)
	if err != nil {
		return err
	}
	estimate := slowest(warm)
	run.Iterations = iterations(c.plan.Iters, c.plan.Time, estimate)
	run.Timeout = runTimeout + runPerEstimate*time.Duration(run.Iterations)*estimate
	timed, err := c.run(ctx, run, protocol.PhaseRun)
	if err != nil {
		return err
	}
	c.gate.Results = append(c.gate.Results, c.result(op, ranks, run, warm, timed))
	return nil
}

// run lets all ranks run iterations, and again where a pause fell into them: a
// time in which a node was stopped says nothing of the network.
func (c *conductor) run(ctx context.Context, run protocol.Run, phase protocol.Phase) (map[string]protocol.Result, error) {
	for range mostAttempts {
		results, err := c.attempt(ctx, run, phase)
		if err != nil {
			return nil, err
		}
		paused := c.nodes(func(node string) bool { return results[node].Paused > 0 })
		if len(paused) == 0 {
			return results, nil
		}
		c.gate.Notes = append(c.gate.Notes, fmt.Sprintf("the %s of %s was done again, because %s stood still for %s meanwhile",
			phase, run.Op, list(paused), results[paused[0]].Paused.Round(100*time.Millisecond)))
		c.limit.Renew()
	}
	return nil, fmt.Errorf("%w: the %s of %s was interrupted %d times by nodes that stood still", ErrUnavailable, phase, run.Op, mostAttempts)
}

func (c *conductor) attempt(ctx context.Context, run protocol.Run, phase protocol.Phase) (map[string]protocol.Result, error) {
	run.Timeout = c.remaining(run.Timeout)
	c.command(protocol.Message{Run: &run})
	heard, err := c.collect(ctx, phase, run.Timeout+answerGrace)
	c.phase(string(phase) + " of " + run.Op)
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

// result makes the report's row: the slowest rank decides.
func (c *conductor) result(op collectives.Op, ranks int, run protocol.Run, warm, timed map[string]protocol.Result) report.Result {
	took := slowest(timed)
	algbw, busbw := op.Bandwidth(run.Bytes, ranks, took)
	floor, source := c.plan.Floor(op)
	result := report.Result{
		Op: string(op), Scope: report.ScopeJob, Nodes: c.plan.Nodes, Ranks: ranks, Bytes: run.Bytes, Iters: run.Iterations,
		Seconds: took.Seconds(), AlgbwGBps: float64(algbw), BusbwGBps: float64(busbw),
		FloorGBps: float64(floor), FloorSource: source, Correct: true,
	}
	for _, node := range c.plan.Nodes {
		_, seen := op.Bandwidth(run.Bytes, ranks, timed[node].Median)
		result.NodeBusbwGBps = append(result.NodeBusbwGBps, float64(seen))
		if wrong := warm[node].Wrong + timed[node].Wrong; wrong > 0 {
			result.Correct = false
			c.gate.Suspects = append(c.gate.Suspects, report.Suspect{
				Node: node, Phase: string(protocol.PhaseRun), Why: fmt.Sprintf("%d elements of %s were wrong", wrong, op),
			})
		}
	}
	return result
}

func slowest(results map[string]protocol.Result) time.Duration {
	var longest time.Duration
	for _, result := range results {
		longest = max(longest, result.Median)
	}
	return longest
}

// iterations is how many of wanted fit into limit.
func iterations(wanted int, limit, estimate time.Duration) int {
	if estimate <= 0 {
		return wanted
	}
	return min(wanted, max(int(limit/estimate), leastIterations))
}

// remaining cuts a phase's time to what the whole gate has left, less the time
// in which the ranks' own words about their failure arrive.
func (c *conductor) remaining(timeout time.Duration) time.Duration {
	return max(min(timeout, c.limit.Left()-answerGrace), time.Second)
}
