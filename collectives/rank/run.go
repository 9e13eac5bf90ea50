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
	op := collectives.Op(run.Op)
	if err := r.prepare(op, run.Bytes); err != nil {
		return nil, err
	}
	times, err := r.iterate(ctx, limit, op, run.Iterations)
	if err != nil {
		return nil, err
	}
	wrong, err := r.buffers.wrong(r.device, r.ranks)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Median: median(times), Wrong: wrong, Paused: limit.Paused()}, nil
}

// prepare makes the buffers of this size, once, and spoils the receive buffer
// so that an iteration that delivers nothing is seen.
func (r *rank) prepare(op collectives.Op, bytes int64) error {
	count, _ := op.Count(bytes)
	if r.buffers != nil && r.buffers.count != count {
		if err := r.buffers.free(r.device); err != nil {
			return err
		}
		r.buffers = nil
	}
	if r.buffers == nil {
		var err error
		if r.buffers, err = newBuffers(r.device, count, r.first); err != nil {
			return err
		}
	}
	return r.buffers.spoil(r.device)
}

// iterate enqueues all iterations at once and returns the time of each.
func (r *rank) iterate(ctx context.Context, limit *deadline.Deadline, op collectives.Op, iterations int) ([]time.Duration, error) {
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
			if err := r.enqueue(op, r.buffers); err != nil {
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
