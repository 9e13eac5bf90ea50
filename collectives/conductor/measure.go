package conductor

import (
	"context"
	"fmt"
	"time"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/report"
)

// message is one measurement: a collective over a message of one size.
type message struct {
	op    collectives.Op
	bytes int64 // as the collective rounds it
	ranks int
	// swept is any size of a sweep but the largest: it is reported and never judged.
	swept bool
}

// messages lists what is to be measured. A size too small for so many ranks is
// found here, before time is spent on the others.
func (c *conductor) messages(ranks int) ([]message, error) {
	var all []message
	for _, op := range c.plan.Ops {
		for i, size := range c.plan.Sizes {
			_, bytes, err := op.Count(size, ranks)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			all = append(all, message{op, bytes, ranks, i < len(c.plan.Sizes)-1})
		}
	}
	return all, nil
}

// name is what the phases call a message: by its size only in a sweep.
func (c *conductor) name(m message) string {
	if len(c.plan.Sizes) < 2 {
		return string(m.op)
	}
	return fmt.Sprintf("%s of %s", m.op, config.Bytes(m.bytes))
}

// measure warms a collective up, then times as many iterations as fit, so that
// all the messages that are left get their time.
func (c *conductor) measure(ctx context.Context, m message, left int) error {
	if c.limit.Left() <= answerGrace {
		return fmt.Errorf("%w: the time was over before %s: set a longer timeout, or measure less", ErrUnavailable, c.name(m))
	}
	// Nobody knows yet how slow the network is. What is slow but alive may use
	// half of the gate's time, so that as much is left for the measurement.
	run := protocol.Run{Op: string(m.op), Bytes: m.bytes, Iterations: max(c.plan.Warmup, 1), Timeout: max(runTimeout, c.limit.Left()/2)}
	warm, err := c.run(ctx, run, protocol.PhaseWarmup, c.name(m))
	if err != nil {
		return err
	}
	estimate := slowest(warm)
	run.Iterations = iterations(c.plan.Iters, min(c.plan.Time, c.share(left)), estimate)
	run.Timeout = runTimeout + runPerEstimate*time.Duration(run.Iterations)*estimate
	timed, err := c.run(ctx, run, protocol.PhaseRun, c.name(m))
	if err != nil {
		return err
	}
	c.gate.Results = append(c.gate.Results, c.result(m, run.Iterations, warm, timed))
	return nil
}

// share is the time for the iterations of one message where so many are left:
// half of its part of the gate's time, since the other half goes to warm-ups.
func (c *conductor) share(left int) time.Duration {
	return (c.limit.Left() - answerGrace) / time.Duration(2*left)
}

// result makes the report's row: the slowest rank decides.
func (c *conductor) result(m message, iterations int, warm, timed map[string]protocol.Result) report.Result {
	took := slowest(timed)
	algbw, busbw := m.op.Bandwidth(m.bytes, m.ranks, took)
	result := report.Result{
		Op: string(m.op), Scope: report.ScopeJob, Nodes: c.plan.Nodes, Ranks: m.ranks, Bytes: m.bytes, Iters: iterations,
		Seconds: took.Seconds(), AlgbwGBps: float64(algbw), BusbwGBps: float64(busbw), Swept: m.swept,
	}
	if !m.swept {
		floor, source := c.plan.Floor(m.op)
		result.FloorGBps, result.FloorSource = float64(floor), source
	}
	for _, node := range c.plan.Nodes {
		_, seen := m.op.Bandwidth(m.bytes, m.ranks, timed[node].Median)
		result.NodeBusbwGBps = append(result.NodeBusbwGBps, float64(seen))
	}
	wrong := c.wrong(warm, timed)
	result.Correct = len(wrong) == 0
	c.blame(m, wrong)
	return result
}

func slowest(results map[string]protocol.Result) time.Duration {
	var longest time.Duration
	for _, result := range results {
		longest = max(longest, result.Median)
	}
	return longest
}

const leastIterations = 3 // a median of fewer is none

// iterations is how many of wanted fit into limit.
func iterations(wanted int, limit, estimate time.Duration) int {
	if estimate <= 0 {
		return wanted
	}
	return min(wanted, max(int(limit/estimate), leastIterations))
}
