package rank

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/internal/deadline"
)

// run times iterations of a collective and checks what the last one delivered.
// The times come from events on the stream, so that neither our polling nor the
// launch of the next iteration is measured.
func (r *rank) run(ctx context.Context, run *protocol.Run) (*protocol.Result, error) {
	limit := deadline.In(run.Timeout)
	defer limit.Stop()
	if r.comm == nil {
		return nil, fmt.Errorf("asked to run %s before the communicator was built", run.Op)
	}
	if err := r.prepare(collectives.Op(run.Op), run.Bytes); err != nil {
		return nil, err
	}
	times, err := r.iterate(ctx, limit, run.Iterations)
	if err != nil {
		return nil, err
	}
	result := &protocol.Result{Median: median(times)}
	if result.Wrong, err = r.buffers.wrong(r.device); err != nil {
		return nil, err
	}
	if result.Wrong > 0 {
		result.WrongRanks = []protocol.WrongRank{{Rank: r.number, Elements: result.Wrong}}
	}
	result.Paused = limit.Paused()
	return result, nil
}

// prepare makes the buffers of this operation and size, once, and spoils the
// receive buffer so that an iteration that delivers nothing is seen.
func (r *rank) prepare(op collectives.Op, bytes int64) error {
	count, _, err := op.Count(bytes, r.ranks)
	if err != nil {
		return err
	}
	wanted := place{op: op, count: count, ranks: r.ranks, rank: r.number}
	if r.buffers != nil && r.buffers.place != wanted {
		if err := r.buffers.free(r.device); err != nil {
			return err
		}
		r.buffers = nil
	}
	if r.buffers == nil {
		if r.buffers, err = newBuffers(r.device, wanted); err != nil {
			return err
		}
	}
	return r.buffers.spoil(r.device)
}

// enqueue puts one iteration of the prepared operation on the stream.
func (r *rank) enqueue() error {
	b, send, recv := r.buffers, r.buffers.sendMemory, r.buffers.recvMemory
	switch b.op {
	case collectives.AllReduce:
		return r.comm.AllReduce(send, recv, b.count, r.stream)
	case collectives.AllGather:
		return r.comm.AllGather(send, recv, b.count, r.stream)
	case collectives.ReduceScatter:
		return r.comm.ReduceScatter(send, recv, b.count, r.stream)
	case collectives.AllToAll:
		return r.comm.AllToAll(send, recv, b.count, b.ranks, r.stream)
	case collectives.Broadcast:
		return r.comm.Broadcast(send, recv, b.count, root, r.stream)
	case collectives.Reduce:
		return r.comm.Reduce(send, recv, b.count, root, r.stream)
	case collectives.SendRecv:
		return r.comm.SendRecv(send, b.next(), recv, b.previous(), b.count, r.stream)
	default:
		return fmt.Errorf("this rank cannot measure %q", b.op)
	}
}

// iterate enqueues all iterations at once and returns the time of each.
func (r *rank) iterate(ctx context.Context, limit *deadline.Deadline, iterations int) ([]time.Duration, error) {
	events := make([]uintptr, iterations+1)
	defer func() {
		for _, event := range events {
			if event != 0 {
				_ = r.device.FreeEvent(event) // the process ends soon, and its events with it
			}
		}
	}()
	for i := range events {
		var err error
		if events[i], err = r.device.NewEvent(); err != nil {
			return nil, err
		}
	}
	for i, event := range events {
		if i > 0 {
			if err := r.enqueue(); err != nil {
				return nil, err
			}
			// A non-blocking communicator takes no other call before it has settled.
			if err := r.await(ctx, limit, r.comm.Settled); err != nil {
				return nil, err
			}
		}
		if err := r.device.Record(event, r.stream); err != nil {
			return nil, err
		}
	}
	err := r.await(ctx, limit, func() (bool, error) { return r.device.StreamDone(r.stream) })
	if err != nil {
		return nil, err
	}
	times := make([]time.Duration, iterations)
	for i := range times {
		if times[i], err = r.device.Elapsed(events[i], events[i+1]); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	middle := len(times) / 2
	if len(times)%2 == 1 {
		return times[middle]
	}
	return (times[middle-1] + times[middle]) / 2
}
