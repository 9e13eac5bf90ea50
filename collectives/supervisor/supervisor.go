// Package supervisor is the gate's presence on one node: it starts one process
// per rank, hands them the conductor's commands, gathers their answers into one,
// and kills what does not answer. It loads no library itself, so that a stuck or
// dead rank never takes the step along that must still find the culprit.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"slurm-preflight/collectives/protocol"
)

// Node is what a supervisor knows of its place in the step.
type Node struct {
	Name  string
	ID    int    // the node's place in the step, from 0
	Step  string // JOB.STEP
	Ranks int
}

// Process is one running rank.
type Process interface {
	// Send gives the rank a command. It never blocks for long: the rank reads or dies.
	Send(command protocol.Message) error
	// Kill ends the rank, whatever it does.
	Kill()
}

// Answer is what a rank said. Its end is said as a Failed.
type Answer struct {
	Rank    int
	Message protocol.Message
}

// Start starts the rank with this number on the node; what it says arrives at answers.
type Start func(ctx context.Context, rank int, answers chan<- Answer) (Process, error)

// loadTimeout bounds the time from a rank's start to its hello. Loading NCCL and
// creating a CUDA context take seconds on a busy node.
const loadTimeout = 30 * time.Second

// grace is what a rank may take beyond the deadline that it was given itself,
// since it explains its failure better than its death does.
const grace = 2 * time.Second

type supervisor struct {
	node      Node
	out       *protocol.Writer
	processes []Process
	answers   chan Answer
	commands  chan protocol.Message
	broken    bool // a rank failed, so the others hang in its collective
	done      bool // the conductor said quit
}

// Run supervises until the conductor says quit, its stream ends or ctx is done.
// Whatever the reason, no rank is left when it returns.
func Run(ctx context.Context, node Node, in io.Reader, out io.Writer, nonce string, start Start) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &supervisor{
		node: node, out: protocol.NewWriter(out, nonce, node.Name),
		answers: make(chan Answer, 4*node.Ranks), commands: make(chan protocol.Message),
	}
	defer s.killAll()
	go func() {
		defer cancel() // the conductor is gone
		receive(ctx, protocol.NewReader(in, nonce, slog.Default()), s.commands)
	}()
	if err := s.startAll(ctx, start); err != nil {
		return s.fail(protocol.PhaseLoad, 0, err)
	}
	if err := s.hello(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case command := <-s.commands:
			if command.Quit != nil {
				return s.quit(ctx)
			}
			if err := s.obey(ctx, command); err != nil || s.done {
				return err
			}
		case answer := <-s.answers:
			// Nobody asked: a rank died between two commands.
			if err := s.relay(answer); err != nil {
				return err
			}
		}
	}
}

func receive(ctx context.Context, in *protocol.Reader, commands chan<- protocol.Message) {
	for {
		_, command, err := in.Next()
		if err != nil {
			return
		}
		select {
		case commands <- command:
		case <-ctx.Done():
			return
		}
	}
}

func (s *supervisor) startAll(ctx context.Context, start Start) error {
	for rank := range s.node.Ranks {
		process, err := start(ctx, rank, s.answers)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, process)
	}
	return nil
}

func (s *supervisor) killAll() {
	for _, process := range s.processes {
		process.Kill()
	}
}

// hello waits for all ranks and greets the conductor in their name.
func (s *supervisor) hello(ctx context.Context) error {
	hello := protocol.Hello{NodeID: s.node.ID, Step: s.node.Step, Ranks: s.node.Ranks}
	answers, failed := s.gather(ctx, protocol.PhaseLoad, loadTimeout)
	if failed != nil {
		return s.out.Send(protocol.Message{Failed: failed})
	}
	for rank, answer := range answers {
		if answer.Hello == nil {
			return s.fail(protocol.PhaseLoad, rank, errors.New("the rank process did not say hello"))
		}
		if rank > 0 && answer.Hello.Library != hello.Library {
			return s.fail(protocol.PhaseLoad, rank, fmt.Errorf("loaded %v where another rank of the node has %v",
				answer.Hello.Library, hello.Library))
		}
		hello.Library = answer.Hello.Library
		if answer.Hello.UID != nil {
			hello.UID = answer.Hello.UID
		}
	}
	return s.out.Send(protocol.Message{Hello: &hello})
}

// obey hands a command to every rank and their answers, as one, to the conductor.
func (s *supervisor) obey(ctx context.Context, command protocol.Message) error {
	switch {
	case command.Init != nil:
		if s.node.ID >= len(command.Init.First) {
			return s.fail(protocol.PhaseInit, 0, fmt.Errorf("node %d is not among the %d of the init", s.node.ID, len(command.Init.First)))
		}
		return s.command(ctx, command, protocol.PhaseInit, command.Init.Timeout)
	case command.Run != nil:
		return s.command(ctx, command, protocol.PhaseRun, command.Run.Timeout)
	default:
		return nil // to halt where nothing is under way
	}
}

func (s *supervisor) command(ctx context.Context, command protocol.Message, phase protocol.Phase, timeout time.Duration) error {
	for rank, process := range s.processes {
		if err := process.Send(s.share(command, rank)); err != nil {
			return s.fail(phase, rank, err)
		}
	}
	answers, failed := s.gather(ctx, phase, timeout+grace)
	if failed != nil {
		return s.out.Send(protocol.Message{Failed: failed})
	}
	return s.out.Send(combine(answers))
}

// share is a rank's part of a command.
func (s *supervisor) share(command protocol.Message, rank int) protocol.Message {
	if command.Init == nil {
		return command
	}
	init := *command.Init
	init.First = []int{init.First[s.node.ID] + rank}
	return protocol.Message{Init: &init}
}

// gather waits for one answer of every rank. The first failure ends the wait:
// where one rank cannot go on, the others hang in its collective. So does any
// word of the conductor, who has heard of a failure elsewhere.
func (s *supervisor) gather(ctx context.Context, phase protocol.Phase, timeout time.Duration) ([]protocol.Message, *protocol.Failed) {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	answers := make([]protocol.Message, len(s.processes))
	for missing := len(s.processes); missing > 0; {
		select {
		case answer := <-s.answers:
			if failed := answer.Message.Failed; failed != nil {
				s.broken = true
				return nil, blame(answer, phase)
			}
			answers[answer.Rank] = answer.Message
			missing--
		case command := <-s.commands:
			s.broken, s.done = true, command.Quit != nil
			return nil, &protocol.Failed{Phase: phase, Halted: true, Error: fmt.Sprintf("%d of %d ranks were waiting", missing, len(s.processes))}
		case <-deadline.C:
			s.broken = true
			return nil, &protocol.Failed{Phase: phase, Error: fmt.Sprintf("%d of %d ranks did not answer within %s", missing, len(s.processes), timeout)}
		case <-ctx.Done():
			return nil, &protocol.Failed{Phase: phase, Halted: true, Error: "the gate was ended"}
		}
	}
	return answers, nil
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

func (s *supervisor) relay(answer Answer) error {
	if answer.Message.Failed == nil {
		return nil
	}
	return s.out.Send(protocol.Message{Failed: blame(answer, protocol.PhaseRun)})
}

func (s *supervisor) fail(phase protocol.Phase, rank int, err error) error {
	return s.out.Send(protocol.Message{Failed: &protocol.Failed{Phase: phase, Rank: rank, Error: err.Error()}})
}

// quit lets the ranks leave their communicator, which frees what peers and
// drivers hold for them, and then waits for their end.
func (s *supervisor) quit(ctx context.Context) error {
	if s.broken {
		return nil
	}
	for _, process := range s.processes {
		_ = process.Send(protocol.Message{Quit: &protocol.Quit{}}) // a dead rank has quit already
	}
	s.awaitEnd(ctx)
	return nil
}

// combine makes the node's answer: the slowest rank counts, and all wrong elements.
func combine(answers []protocol.Message) protocol.Message {
	var node protocol.Result
	for _, answer := range answers {
		if answer.Result == nil {
			return protocol.Message{Ready: &protocol.Ready{}}
		}
		node.Median = max(node.Median, answer.Result.Median)
		node.Wrong += answer.Result.Wrong
		room := protocol.MaxWrongRanks - len(node.WrongRanks)
		node.WrongRanks = append(node.WrongRanks, answer.Result.WrongRanks[:min(room, len(answer.Result.WrongRanks))]...)
	}
	return protocol.Message{Result: &node}
}

// awaitEnd waits a moment for every rank's end, which arrives as its last answer.
func (s *supervisor) awaitEnd(ctx context.Context) {
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	for range s.processes {
		select {
		case <-s.answers:
		case <-deadline.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
