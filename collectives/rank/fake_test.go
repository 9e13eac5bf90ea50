package rank_test

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/rank"
)

// group is a communicator in memory: it adds up what its ranks bring, and can
// be told to go wrong.
type group struct {
	size int

	mu      sync.Mutex
	waiting map[int][]*call // by the operation's number
	flip    bool            // changes one element of every sum
	lose    int             // delivers nothing from this operation on; 0 for never
	stuck   bool            // an operation never ends
	broken  error           // what Settled reports
}

// call is one rank's part in one operation.
type call struct {
	number     int // counts this rank's operations
	send, recv []byte
	stream     *stream
}

// arrive completes the operation when the last rank has come.
func (g *group) arrive(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stuck {
		return
	}
	if g.waiting == nil {
		g.waiting = map[int][]*call{}
	}
	parts := append(g.waiting[c.number], c)
	g.waiting[c.number] = parts
	if len(parts) < g.size {
		return
	}
	delete(g.waiting, c.number)
	sum := make([]float32, len(c.send)/4)
	for _, part := range parts {
		for i := range sum {
			sum[i] += math.Float32frombits(binary.NativeEndian.Uint32(part.send[4*i:]))
		}
	}
	if g.flip {
		sum[len(sum)/2]++
	}
	for _, part := range parts {
		for i := range sum {
			if g.lose == 0 || c.number < g.lose {
				binary.NativeEndian.PutUint32(part.recv[4*i:], math.Float32bits(sum[i]))
			}
		}
		part.stream.finish()
	}
}

// fake is one rank's Library, Communicator and Device.
type fake struct {
	group *group

	mu      sync.Mutex
	memory  map[uintptr][]byte
	streams []*stream
	events  []time.Time
	calls   int
	aborted bool
}

// stream counts the operations that are under way; events see no order here,
// since every operation ends before the rank looks.
type stream struct {
	mu      sync.Mutex
	pending int
}

func (s *stream) begin()  { s.mu.Lock(); s.pending++; s.mu.Unlock() }
func (s *stream) finish() { s.mu.Lock(); s.pending--; s.mu.Unlock() }

func newFake(g *group) *fake { return &fake{group: g, memory: map[uintptr][]byte{}} }

func (f *fake) Info() (protocol.Library, error) { return protocol.Library{Name: "fake"}, nil }

func (f *fake) UniqueID() ([128]byte, error) { return [128]byte{1}, nil }

func (f *fake) Init([128]byte, int, int) (rank.Communicator, error) { return f, nil }

func (f *fake) Settled() (bool, error) {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	return f.group.broken == nil, f.group.broken
}

func (f *fake) AllReduce(send, recv uintptr, count int, handle uintptr) error {
	s := f.streams[handle-1]
	s.begin()
	f.calls++
	f.group.arrive(&call{number: f.calls, send: f.at(send, 4*count), recv: f.at(recv, 4*count), stream: s})
	return nil
}

func (f *fake) Abort() error   { f.aborted = true; return nil }
func (f *fake) Destroy() error { return nil }

// blockBytes spaces the fake addresses, so that base plus offset finds its block.
const blockBytes = 1 << 32

func (f *fake) at(address uintptr, bytes int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	base := address / blockBytes * blockBytes
	return f.memory[base][address-base:][:bytes]
}

func (f *fake) Alloc(bytes int) (uintptr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	base := uintptr(len(f.memory)+1) * blockBytes
	f.memory[base] = make([]byte, bytes)
	return base, nil
}

func (f *fake) Free(address uintptr) error {
	if f.memory[address] == nil {
		return errors.New("freed twice")
	}
	f.memory[address] = nil
	return nil
}

func (f *fake) Upload(to uintptr, from []byte) error   { copy(f.at(to, len(from)), from); return nil }
func (f *fake) Download(to []byte, from uintptr) error { copy(to, f.at(from, len(to))); return nil }

func (f *fake) NewStream() (uintptr, error) {
	f.streams = append(f.streams, &stream{})
	return uintptr(len(f.streams)), nil
}

func (f *fake) StreamDone(handle uintptr) (bool, error) {
	s := f.streams[handle-1]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0, nil
}

func (f *fake) NewEvent() (uintptr, error) {
	f.events = append(f.events, time.Time{})
	return uintptr(len(f.events)), nil
}

func (f *fake) FreeEvent(uintptr) error { return nil }

func (f *fake) Record(event, _ uintptr) error { f.events[event-1] = time.Now(); return nil }

func (f *fake) Elapsed(from, to uintptr) (time.Duration, error) {
	return f.events[to-1].Sub(f.events[from-1]), nil
}
