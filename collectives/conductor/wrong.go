package conductor

import (
	"fmt"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/report"
)

// wrong is what one rank of a node received wrong; the rank is -1 for those
// that the node did not name.
type wrong struct {
	node     string
	rank     int
	elements int64
}

// wrong lists the ranks that received wrong elements in any of the runs of one operation.
func (c *conductor) wrong(runs ...map[string]protocol.Result) []wrong {
	var all []wrong
	for _, node := range c.plan.Nodes {
		elements := map[int]int64{}
		var order []int
		add := func(rank int, n int64) {
			if elements[rank] == 0 {
				order = append(order, rank)
			}
			elements[rank] += n
		}
		for _, run := range runs {
			unnamed := run[node].Wrong
			for _, one := range run[node].WrongRanks {
				add(one.Rank, one.Elements)
				unnamed -= one.Elements
			}
			if unnamed > 0 {
				add(-1, unnamed)
			}
		}
		for _, rank := range order {
			all = append(all, wrong{node, rank, elements[rank]})
		}
	}
	return all
}

// blame makes suspects of the ranks that received wrong elements. Where every
// rank did, in a sum that one of them spoilt for all, nobody can be pointed at.
func (c *conductor) blame(m message, all []wrong) {
	if m.ranks > 1 && len(all) >= m.ranks {
		c.gate.Notes = append(c.gate.Notes, fmt.Sprintf("all %d ranks received wrong elements in %s: what spoilt them cannot be told from that", m.ranks, c.name(m)))
		return
	}
	for _, one := range all {
		suspect := report.Suspect{
			Node: one.node, Phase: string(protocol.PhaseRun),
			Why: fmt.Sprintf("it received %s of %s wrong", elements(one.elements), c.name(m)),
		}
		if one.rank >= 0 {
			suspect.Device = fmt.Sprintf("rank %d", one.rank)
		}
		c.gate.Suspects = append(c.gate.Suspects, suspect)
	}
}

func elements(n int64) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}
