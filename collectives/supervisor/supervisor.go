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
	"maps"
	"slices"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
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
	// State is what the kernel says the rank is doing, as half a sentence.
	State() string
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
	number    int  // of the command that is being obeyed
	halted    bool // the conductor said halt
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
		return s.say(protocol.Message{Failed: failed})
	}
	for rank := range s.processes {
		answer := answers[rank]
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
	return s.conclude(protocol.Message{Hello: &hello})
}

// obey hands a command to every rank and their answers, as one, to the conductor.
func (s *supervisor) obey(ctx context.Context, command protocol.Message) error {
	s.number = command.Number
	defer func() { s.number = 0 }()
	switch {
	case command.Init != nil:
		if s.node.ID >= len(command.Init.First) {
			return s.fail(protocol.PhaseInit, 0, fmt.Errorf("node %d is not among the %d of the init", s.node.ID, len(command.Init.First)))
		}
		return s.command(ctx, command, protocol.PhaseInit, command.Init.Timeout)
	case command.Run != nil:
		return s.command(ctx, command, protocol.PhaseRun, command.Run.Timeout)
	case command.Halt != nil:
		return s.say(protocol.Message{Alive: &protocol.Alive{}}) // nothing is under way
	default:
		return nil
	}
}

func (s *supervisor) command(ctx context.Context, command protocol.Message, phase protocol.Phase, timeout time.Duration) error {
	for rank, process := range s.processes {
		_ = process.Send(s.share(command, rank)) // where it is gone, its end is its answer
	}
	answers, failed := s.gather(ctx, phase, timeout+grace)
	if failed != nil {
		return s.say(protocol.Message{Failed: failed})
	}
	return s.conclude(combine(answers))
}

// conclude says a good answer, and that it is well if it was asked meanwhile.
func (s *supervisor) conclude(answer protocol.Message) error {
	if err := s.say(answer); err != nil || !s.halted {
		return err
	}
	return s.say(protocol.Message{Alive: &protocol.Alive{}})
}

// say answers the command that is being obeyed.
func (s *supervisor) say(message protocol.Message) error {
	message.Number = s.number
	return s.out.Send(message)
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

func (s *supervisor) relay(answer Answer) error {
	if answer.Message.Failed == nil {
		return nil
	}
	return s.say(protocol.Message{Failed: blame(answer, protocol.PhaseRun)})
}

func (s *supervisor) fail(phase protocol.Phase, rank int, err error) error {
	return s.say(protocol.Message{Failed: &protocol.Failed{Phase: phase, Rank: rank, Error: err.Error()}})
}

// quit lets the ranks leave their communicator, which frees what peers and
// drivers hold for them, and then waits for their end. Where the communicator
// broke, some of them cannot, and nobody waits long.
func (s *supervisor) quit(ctx context.Context) error {
	for _, process := range s.processes {
		_ = process.Send(protocol.Message{Quit: &protocol.Quit{}}) // a dead rank has quit already
	}
	if s.broken {
		s.awaitEnd(ctx, reaction)
	} else {
		s.awaitEnd(ctx, grace)
	}
	return nil
}

// combine makes the node's answer: the slowest rank counts, and all wrong elements.
func combine(answers map[int]protocol.Message) protocol.Message {
	var node protocol.Result
	for _, rank := range slices.Sorted(maps.Keys(answers)) {
		answer := answers[rank]
		if answer.Result == nil {
			return protocol.Message{Ready: &protocol.Ready{}}
		}
		node.Median = max(node.Median, answer.Result.Median)
		node.Wrong += answer.Result.Wrong
		room := protocol.MaxWrongRanks - len(node.WrongRanks)
		node.WrongRanks = append(node.WrongRanks, answer.Result.WrongRanks[:min(room, len(answer.Result.WrongRanks))]...)
		node.Paused = max(node.Paused, answer.Result.Paused)
	}
	return protocol.Message{Result: &node}
}

// awaitEnd waits a moment for every rank's end, which arrives as its last answer.
func (s *supervisor) awaitEnd(ctx context.Context, patience time.Duration) {
	limit := deadline.In(patience)
	defer limit.Stop()
	for range s.processes {
		select {
		case <-s.answers:
		case <-limit.Passed():
			return
		case <-ctx.Done():
			return
		}
	}
}
