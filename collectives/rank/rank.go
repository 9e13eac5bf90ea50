// Package rank is one rank of the gate: a process of its own that loads the
// collective library, joins the communicator and measures. It is told what to
// do over a pipe by its supervisor, who may kill it at any moment.
//
// It knows neither NCCL nor CUDA: the program hands it a Library and a Device.
// Memory, streams and events are opaque handles of that library.
package rank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
)

// Library makes communicators; NCCL, RCCL and libhostccl are such libraries.
type Library interface {
	// Info tells what was loaded, and from where.
	Info() (protocol.Library, error)
	// UniqueID makes the id of a new communicator. The process must live until all ranks have joined.
	UniqueID() ([128]byte, error)
	// Init begins to join a communicator; Communicator.Settled tells when it is done.
	Init(id [128]byte, ranks, rank int) (Communicator, error)
}

// Communicator is one rank's membership in a group.
type Communicator interface {
	// Settled reports that nothing is under way; an error is the group's end.
	Settled() (bool, error)
	Operations
	// Abort ends whatever is under way, in all states.
	Abort() error
	// Destroy leaves the group in peace.
	Destroy() error
}

// Operations enqueue one collective on a stream; count is that of NCCL's
// function, in float32 values.
type Operations interface {
	AllReduce(send, recv uintptr, count int, stream uintptr) error
	AllGather(send, recv uintptr, count int, stream uintptr) error
	ReduceScatter(send, recv uintptr, count int, stream uintptr) error
	Broadcast(send, recv uintptr, count, root int, stream uintptr) error
	Reduce(send, recv uintptr, count, root int, stream uintptr) error
	// AllToAll sends each of so many ranks a block of count values, and receives one from each.
	AllToAll(send, recv uintptr, count, ranks int, stream uintptr) error
	// SendRecv sends to one rank and receives from another.
	SendRecv(send uintptr, to int, recv uintptr, from, count int, stream uintptr) error
}

// Device is the memory that the library works on.
type Device interface {
	Alloc(bytes int) (uintptr, error)
	Free(memory uintptr) error
	Upload(to uintptr, from []byte) error
	Download(to []byte, from uintptr) error
	NewStream() (uintptr, error)
	// StreamDone reports that all work on the stream is finished.
	StreamDone(stream uintptr) (bool, error)
	NewEvent() (uintptr, error)
	FreeEvent(event uintptr) error
	Record(event, stream uintptr) error
	// Elapsed is the time between two events that have both happened.
	Elapsed(from, to uintptr) (time.Duration, error)
}

// rank is the state between two commands.
type rank struct {
	library Library
	device  Device
	comm    Communicator
	stream  uintptr
	number  int
	ranks   int
	buffers *buffers
	broken  bool // a command failed, so nothing more can be done
}

// Serve says hello and obeys the commands of in until it ends or says quit.
// What a command could not do is answered with protocol.Failed, not returned.
func Serve(ctx context.Context, in io.Reader, out io.Writer, makesID bool, library Library, device Device) error {
	r := &rank{library: library, device: device}
	answers := json.NewEncoder(out)
	if err := answers.Encode(r.hello(makesID)); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	ctx, commands := receive(ctx, in)
	defer commands.close()
	for command := range commands.queue {
		if command.Quit != nil {
			return r.leave()
		}
		answer := r.obey(ctx, command)
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		r.broken = r.broken || answer.Failed != nil
	}
	return commands.err
}

// Refuse tells the supervisor that this rank cannot even load its library.
func Refuse(out io.Writer, why error) error {
	return json.NewEncoder(out).Encode(failed(protocol.PhaseLoad, why))
}

func (r *rank) hello(makesID bool) protocol.Message {
	info, err := r.library.Info()
	if err != nil {
		return failed(protocol.PhaseLoad, err)
	}
	hello := &protocol.Hello{Library: info, Ranks: 1}
	if makesID {
		id, err := r.library.UniqueID()
		if err != nil {
			return failed(protocol.PhaseLoad, err)
		}
		hello.UID = id[:]
	}
	return protocol.Message{Hello: hello}
}

func (r *rank) obey(ctx context.Context, command protocol.Message) protocol.Message {
	switch {
	case command.Init != nil:
		if err := r.join(ctx, command.Init); err != nil {
			return failed(protocol.PhaseInit, err)
		}
		return protocol.Message{Ready: &protocol.Ready{}}
	case command.Run != nil:
		result, err := r.run(ctx, command.Run)
		if err != nil {
			return failed(protocol.PhaseRun, err)
		}
		return protocol.Message{Result: result}
	default:
		return failed(protocol.PhaseRun, errors.New("a command that this rank does not know"))
	}
}

func (r *rank) join(ctx context.Context, init *protocol.Init) error {
	if len(init.UID) != 128 || len(init.First) != 1 || init.Ranks < 1 {
		return fmt.Errorf("a malformed init: %d bytes of unique id, %d ranks", len(init.UID), init.Ranks)
	}
	limit := deadline.In(init.Timeout)
	defer limit.Stop()
	var err error
	r.number, r.ranks = init.First[0], init.Ranks
	if r.comm, err = r.library.Init([128]byte(init.UID), r.ranks, r.number); err != nil {
		return err
	}
	if r.stream, err = r.device.NewStream(); err != nil {
		return err
	}
	return r.await(ctx, limit, r.comm.Settled)
}

// The ends of a wait that are not this rank's fault.
var (
	errLate   = errors.New("the other ranks did not come in time")
	errHalted = errors.New("it waited for other ranks when it was told to halt")
)

// await polls done, and the communicator's health beside it, until the limit.
func (r *rank) await(ctx context.Context, limit *deadline.Deadline, done func() (bool, error)) error {
	const interval = 200 * time.Microsecond
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		finished, err := done()
		if err == nil && !finished {
			_, err = r.comm.Settled()
		}
		if finished || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-limit.Passed():
			return errLate
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave leaves the communicator, in peace if it can. One that broke is aborted
// only now, because an abort breaks it for all others, and nobody could tell any
// more where it broke first.
func (r *rank) leave() error {
	switch {
	case r.comm == nil:
		return nil
	case r.broken:
		return r.comm.Abort()
	default:
		return r.comm.Destroy()
	}
}

func failed(phase protocol.Phase, err error) protocol.Message {
	kind := protocol.KindError
	if errors.Is(err, errLate) || errors.Is(err, errHalted) {
		kind = protocol.KindWaiting
	}
	return protocol.Message{Failed: &protocol.Failed{Phase: phase, Error: err.Error(), Kind: kind}}
}
