package nccl_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
)

// operation is how these tests call one operation of the library, and what
// every rank must then hold. count is per rank and block, as NCCL counts.
type operation struct {
	sends, receives func(m *member, count int) int // elements of the buffers
	queue           func(m *member, send, recv uintptr, count int, stream uintptr) error
	// want is the element i of the receive buffer.
	want func(m *member, count, i int) float32
	// inPlace says where the smaller buffer lies within the larger; nil where NCCL forbids it.
	inPlace func(m *member, count int) (send, recv int)
}

func one(_ *member, count int) int  { return count }
func each(m *member, count int) int { return count * m.size }
func (m *member) last() int         { return m.size - 1 } // the root, since 0 would be too easy
func (m *member) next() int         { return (m.rank + 1) % m.size }
func (m *member) previous() int     { return (m.rank + m.size - 1) % m.size }
func same(*member, int) (int, int)  { return 0, 0 }

// value is what a rank sends at a place of its buffer: small integers, whose sums are exact.
func value(rank, index int) float32 { return float32((rank + 1) * (index%101 + 1)) }

func (m *member) sum(index int) (sum float32) {
	for other := range m.size {
		sum += value(other, index)
	}
	return sum
}

var operations = map[string]operation{
	"allreduce": {
		sends: one, receives: one, inPlace: same,
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.AllReduce(send, recv, count, stream)
		},
		want: func(m *member, _, i int) float32 { return m.sum(i) },
	},
	"allgather": {
		sends: one, receives: each,
		inPlace: func(m *member, count int) (int, int) { return m.rank * count, 0 },
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.AllGather(send, recv, count, stream)
		},
		want: func(_ *member, count, i int) float32 { return value(i/count, i%count) },
	},
	"reducescatter": {
		sends: each, receives: one,
		inPlace: func(m *member, count int) (int, int) { return 0, m.rank * count },
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.ReduceScatter(send, recv, count, stream)
		},
		want: func(m *member, count, i int) float32 { return m.sum(m.rank*count + i) },
	},
	"alltoall": {
		sends: each, receives: each,
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.AllToAll(send, recv, count, m.size, stream)
		},
		want: func(m *member, count, i int) float32 { return value(i/count, m.rank*count+i%count) },
	},
	"broadcast": {
		sends: one, receives: one, inPlace: same,
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.Broadcast(send, recv, count, m.last(), stream)
		},
		want: func(m *member, _, i int) float32 { return value(m.last(), i) },
	},
	"reduce": {
		sends: one, inPlace: same,
		receives: one,
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.Reduce(send, recv, count, m.last(), stream)
		},
		want: func(m *member, _, i int) float32 {
			if m.rank != m.last() {
				return value(m.rank, i) // nothing is delivered here, so what was there stays
			}
			return m.sum(i)
		},
	},
	"sendrecv": {
		sends: one, receives: one,
		queue: func(m *member, send, recv uintptr, count int, stream uintptr) error {
			return m.comm.SendRecv(send, m.next(), recv, m.previous(), count, stream)
		},
		want: func(m *member, _, i int) float32 { return value(m.previous(), i) },
	},
}

// check runs an operation twice, out of place and in place, and looks at every element.
func (r *rank) check(m *member, op operation, count int) error {
	sent, received := op.sends(m, count), op.receives(m, count)
	send, errSend := r.device.Alloc(4 * sent)
	recv, errRecv := r.device.Alloc(4 * received)
	both, errBoth := r.device.Alloc(4 * max(sent, received))
	stream, errStream := r.device.NewStream()
	data := make([]byte, 4*sent)
	for i := range sent {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(value(m.rank, i)))
	}
	err := errors.Join(errSend, errRecv, errBoth, errStream, r.device.Upload(send, data),
		r.device.Upload(recv, data[:4*min(sent, received)]),
		op.queue(m, send, recv, count, stream))
	to := both
	if op.inPlace != nil && err == nil {
		fromElement, toElement := op.inPlace(m, count)
		from := both + uintptr(4*fromElement)
		to += uintptr(4 * toElement)
		err = errors.Join(r.device.Upload(from, data), op.queue(m, from, to, count, stream))
	}
	if err = errors.Join(err, r.finish(m, stream)); err != nil {
		return err
	}
	if err := r.compare(m, op, count, recv); err != nil {
		return err
	}
	if op.inPlace != nil {
		if err := r.compare(m, op, count, to); err != nil {
			return fmt.Errorf("in place: %w", err)
		}
	}
	return errors.Join(r.device.FreeStream(stream), r.device.Free(send), r.device.Free(recv), r.device.Free(both))
}

func (r *rank) compare(m *member, op operation, count int, recv uintptr) error {
	data := make([]byte, 4*op.receives(m, count))
	if err := r.device.Download(data, recv); err != nil {
		return err
	}
	for i := range len(data) / 4 {
		want := op.want(m, count, i)
		if got := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])); got != want {
			return fmt.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
	return nil
}

func TestEveryElementOfEveryOperation(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 8} {
		counts := []int{1, 7, 1023, 262147}
		if size == 5 {
			counts = append(counts, 1_100_003) // blocks of several rounds
		}
		t.Run(fmt.Sprintf("%d ranks", size), func(t *testing.T) {
			ranks := startRanks(t, size)
			connect("world", ranks)
			for name := range operations {
				for _, count := range counts {
					t.Logf("%s of %d", name, count)
					all(ranks, "run world %s %d", name, count)
				}
			}
			all(ranks, "destroy world")
		})
	}
}

func TestTwoCommunicatorsAtOnce(t *testing.T) {
	for name := range operations {
		t.Run(name, func(t *testing.T) {
			ranks := startRanks(t, 3)
			connect("first", ranks)
			// Another order, so that the two rings differ.
			connect("second", []*process{ranks[2], ranks[0], ranks[1]})
			all(ranks, "busy first %s 100003", name)
			all(ranks, "run second %s 100003", name)
			all(ranks, "abort first")
			all(ranks, "run second %s 10", name)
			all(ranks, "destroy second")
		})
	}
}
