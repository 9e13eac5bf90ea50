package supervisor

import (
	"context"
	"fmt"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
)

// reaction is how long a rank in good health may take to react to a halt. It
// polls thousands of times a second; only a process that is stopped, stuck in
// the kernel or stuck in its library takes longer.
const reaction = time.Second

// gathering is the answers of all ranks to one command.
type gathering struct {
	phase   protocol.Phase
	answers map[int]protocol.Message // good ones, by rank
	failed  map[int]protocol.Failed
	late    bool // the deadline has passed
}

func (s *supervisor) missing(g *gathering) int {
	return len(s.processes) - len(g.answers) - len(g.failed)
}

// take files an answer. Of several failures of a rank the first is the cause,
// and its process ends with its last.
func (g *gathering) take(answer Answer) {
	if answer.Message.Failed == nil {
		g.answers[answer.Rank] = answer.Message
		return
	}
	delete(g.answers, answer.Rank)
	if _, known := g.failed[answer.Rank]; !known {
		g.failed[answer.Rank] = *blame(answer, g.phase)
	}
}

func (g *gathering) heardOf(rank int) bool {
	_, answered := g.answers[rank]
	_, failed := g.failed[rank]
	return answered || failed
}

// gather waits for one answer of every rank. The first failure ends the wait:
// where one rank cannot go on, the others hang in its collective. So does any
// word of the conductor, who has heard of a failure elsewhere.
func (s *supervisor) gather(ctx context.Context, phase protocol.Phase, timeout time.Duration) (map[int]protocol.Message, *protocol.Failed) {
	limit := deadline.In(timeout)
	defer limit.Stop()
	g := &gathering{phase: phase, answers: map[int]protocol.Message{}, failed: map[int]protocol.Failed{}}
	for s.missing(g) > 0 {
		select {
		case answer := <-s.answers:
			if g.take(answer); len(g.failed) > 0 {
				return s.survey(ctx, g)
			}
		case command := <-s.commands:
			if s.done = command.Quit != nil; s.done {
				s.broken = true
				return nil, ended(phase)
			}
			s.halted = true
			return s.survey(ctx, g)
		case <-limit.Passed():
			g.late = true
			return s.survey(ctx, g)
		case <-ctx.Done():
			return nil, ended(phase)
		}
	}
	return g.answers, nil
}

func ended(phase protocol.Phase) *protocol.Failed {
	return &protocol.Failed{Phase: phase, Kind: protocol.KindWaiting, Error: "the gate was ended"}
}

// survey finds out how the ranks are that have not answered, once it is known
// that something went wrong: it tells them to halt, and who does not react
// to that is no victim. The worst of them speaks for the node.
func (s *supervisor) survey(ctx context.Context, g *gathering) (map[int]protocol.Message, *protocol.Failed) {
	for rank, process := range s.processes {
		if !g.heardOf(rank) {
			_ = process.Send(protocol.Message{Halt: &protocol.Halt{}}) // its end is an answer of its own
		}
	}
	limit := deadline.In(reaction)
	defer limit.Stop()
	for waiting := true; waiting && s.missing(g) > 0; {
		select {
		case answer := <-s.answers:
			g.take(answer)
		case <-limit.Passed():
			waiting = false
		case <-ctx.Done():
			return nil, ended(g.phase)
		}
	}
	if len(g.answers) == len(s.processes) {
		return g.answers, nil // it was not too late
	}
	s.broken = true
	return nil, s.worst(g)
}

// worst is the failure that tells most: a rank that is gone, then an error, then a rank that only waited.
func (s *supervisor) worst(g *gathering) *protocol.Failed {
	byKind := map[protocol.Kind]*protocol.Failed{}
	for rank, process := range s.processes {
		failed, known := g.failed[rank]
		if _, answered := g.answers[rank]; answered {
			continue
		}
		if !known {
			failed = g.unheard(rank, process)
		}
		if byKind[failed.Kind] == nil {
			byKind[failed.Kind] = &failed
		}
	}
	for _, kind := range []protocol.Kind{protocol.KindDead, protocol.KindError, protocol.KindWaiting} {
		if failed := byKind[kind]; failed != nil {
			return failed
		}
	}
	return nil
}

// unheard is a rank that did not react. While it loads its library it cannot.
func (g *gathering) unheard(rank int, process Process) protocol.Failed {
	failed := protocol.Failed{Phase: g.phase, Rank: rank, Kind: protocol.KindDead}
	failed.Error = fmt.Sprintf("rank %d on this node does not react: %s", rank, process.State())
	if g.phase == protocol.PhaseLoad && !g.late {
		failed.Kind = protocol.KindWaiting
		failed.Error = fmt.Sprintf("rank %d on this node was still loading the collective library: %s", rank, process.State())
	}
	return failed
}

// blame completes a rank's failure with what only the supervisor knows.
func blame(answer Answer, phase protocol.Phase) *protocol.Failed {
	failed := *answer.Message.Failed
	failed.Rank = answer.Rank
	if failed.Phase == "" {
		failed.Phase = phase
	}
	return &failed
}
