package conductor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

// explain turns an incomplete phase into an error and its suspects. What counts
// is, in this order: a node that the launcher has lost, a silent node, a rank
// that is gone, an error of a minority, a single straggler. Where nothing
// singles out a node, nobody is blamed.
func (c *conductor) explain(a answers) error {
	for _, node := range c.plan.Nodes {
		if failed, ok := a.failed[node]; ok && failed.Phase == protocol.PhaseLoad && failed.Kind == protocol.KindError {
			return fmt.Errorf("%w: %s: %s", ErrUnavailable, node, failed.Error)
		}
	}
	if a.phase == protocol.PhaseLaunch && len(a.by) == 0 && len(c.lost(a)) == 0 && len(c.silent(a)) == 0 {
		return fmt.Errorf("%w: no node answered: %s", ErrUnavailable, c.launchWords(a))
	}
	for _, group := range [][]culprit{c.lost(a), c.silent(a), c.dead(a), c.broken(a), c.straggling(a)} {
		if len(group) == 0 {
			continue
		}
		for _, culprit := range group {
			c.gate.Suspects = append(c.gate.Suspects, report.Suspect{Node: culprit.node, Phase: string(a.phase), Why: culprit.why})
		}
		return unfit{fmt.Errorf("%s failed: %s: %s", doing(a.phase), names(group), group[0].why)}
	}
	return c.unexplained(a)
}

// culprit is a node that a failure points at.
type culprit struct{ node, why string }

// lost are the nodes that the launcher has lost. If it has lost all, the fault is its own.
func (c *conductor) lost(a answers) []culprit {
	if len(a.lost) == len(c.plan.Nodes) {
		return nil
	}
	return c.culprits(func(node string) (string, bool) { why, lost := a.lost[node]; return why, lost })
}

// silent are the nodes that did not answer where others did. More silent nodes
// than others are as likely cut off by something between us, and a step that
// ended took everybody along.
func (c *conductor) silent(a answers) []culprit {
	silent := c.culprits(func(node string) (string, bool) { return "it did not answer, while others did", a.silent(node) })
	if a.ended || 2*len(silent) > len(c.plan.Nodes) {
		return nil
	}
	return silent
}

func (c *conductor) culprits(is func(node string) (why string, guilty bool)) []culprit {
	var found []culprit
	for _, node := range c.plan.Nodes {
		if why, guilty := is(node); guilty {
			found = append(found, culprit{node, why})
		}
	}
	return found
}

// silent says that nothing was heard of a node since all were asked.
func (a *answers) silent(node string) bool {
	_, answered := a.by[node]
	_, failed := a.failed[node]
	_, lost := a.lost[node]
	if a.halted {
		answered = a.alive[node]
	}
	return !answered && !failed && !lost
}

// dead are the nodes of which a rank's process ended or does not react.
func (c *conductor) dead(a answers) []culprit {
	dead := c.failing(a, protocol.KindDead)
	if len(dead) == len(c.plan.Nodes) {
		return nil
	}
	return dead
}

// broken are the nodes whose library reports an error, if others do not: the
// neighbours of a lost rank report errors too.
func (c *conductor) broken(a answers) []culprit {
	broken := c.failing(a, protocol.KindError)
	if 2*len(broken) >= len(c.plan.Nodes) {
		return nil
	}
	return broken
}

// straggling is the one node that was not done when all others were.
func (c *conductor) straggling(a answers) []culprit {
	waiting := c.failing(a, protocol.KindWaiting)
	if len(waiting) != 1 || len(a.by) != len(c.plan.Nodes)-1 {
		return nil
	}
	return []culprit{{waiting[0].node, "it was not done long after all others were: " + waiting[0].why}}
}

func (c *conductor) failing(a answers, kind protocol.Kind) []culprit {
	return c.culprits(func(node string) (string, bool) {
		failed, ok := a.failed[node]
		return failed.Error, ok && failed.Kind == kind
	})
}

// unexplained is a failure that points at nobody.
func (c *conductor) unexplained(a answers) error {
	what := doing(a.phase)
	silent := c.nodes(a.silent)
	for _, kind := range []protocol.Kind{protocol.KindDead, protocol.KindError} {
		if group := c.failing(a, kind); len(group) > 0 {
			err := fmt.Errorf("%s failed: %s says: %s", what, group[0].node, group[0].why)
			if a.phase == protocol.PhaseLaunch {
				return fmt.Errorf("%w: %w", ErrUnavailable, err)
			}
			return unfit{err}
		}
	}
	switch {
	case a.ended || len(a.lost) > 0:
		return fmt.Errorf("%w: its own step ended early, while %s: %s", ErrUnavailable, what, c.launchWords(a))
	case len(silent) > 0:
		return unfit{fmt.Errorf("%s failed: %s did not answer, too many for one of them to be blamed", what, list(silent))}
	default:
		return unfit{fmt.Errorf("%s was not finished in time by any node", what)}
	}
}

func doing(phase protocol.Phase) string {
	return map[protocol.Phase]string{
		protocol.PhaseLaunch: "starting the gate",
		protocol.PhaseInit:   "connecting the ranks",
		protocol.PhaseWarmup: "warming up the collective",
		protocol.PhaseRun:    "running the collective",
	}[phase]
}

func (c *conductor) nodes(is func(node string) bool) []string {
	return slices.DeleteFunc(slices.Clone(c.plan.Nodes), func(node string) bool { return !is(node) })
}

// launchWords explains a step that ended, or of which nothing was heard.
func (c *conductor) launchWords(a answers) string {
	how := "the step did not start in time"
	if a.ended {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		how = c.step.Wait(ctx)
	}
	if words := c.step.Words(); words != "" {
		return how + "; " + words
	}
	return how
}

func names(group []culprit) string {
	nodes := make([]string, len(group))
	for i, culprit := range group {
		nodes[i] = culprit.node
	}
	return list(nodes)
}

// list names a few of many nodes.
func list(nodes []string) string {
	const most = 8
	if len(nodes) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(nodes[:most], ", "), len(nodes)-most)
	}
	return strings.Join(nodes, ", ")
}
