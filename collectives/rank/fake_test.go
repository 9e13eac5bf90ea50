package rank_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/rank"
)

// group is a communicator in memory: it makes of what its ranks bring what the
// operation says, and can be told to go wrong.
type group struct {
	size int

	mu      sync.Mutex
	waiting map[int][]*call                     // by the operation's number
	spoil   func(c *call, d []byte)             // changes what is delivered to a rank
	wrong   func(c *call, parts []*call) []byte // delivers in place of the operation
	lose    int                                 // delivers nothing from this operation on; 0 for never
	stuck   bool                                // an operation never ends
	broken  error                               // what Settled reports
}

// call is one rank's part in one operation.
type call struct {
	number     int // counts this rank's operations
	rank       int
	send, recv []byte
	block      int    // bytes of the block of one rank
	from       int    // the root, or the rank to receive from
	total      []byte // the sum over all, with the first call
	stream     *stream
	deliver    func(c *call, parts []*call) []byte
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
	slices.SortFunc(parts, func(a, b *call) int { return a.rank - b.rank })
	for _, part := range parts {
		deliver := part.deliver
		if g.wrong != nil {
			deliver = g.wrong
		}
		delivered := deliver(part, parts)
		if g.spoil != nil && len(delivered) > 0 {
			g.spoil(part, delivered)
		}
		if g.lose == 0 || c.number < g.lose {
			copy(part.recv, delivered)
		}
		part.stream.finish()
	}
}

// The ways in which data goes.

func sum(_ *call, parts []*call) []byte {
	if parts[0].total != nil { // added up for another rank already
		return slices.Clone(parts[0].total)
	}
	total := make([]byte, len(parts[0].send))
	for i := 0; i < len(total); i += 4 {
		var element float32
		for _, part := range parts {
			element += math.Float32frombits(binary.NativeEndian.Uint32(part.send[i:]))
		}
		binary.NativeEndian.PutUint32(total[i:], math.Float32bits(element))
	}
	parts[0].total = total
	return slices.Clone(total)
}

func sumBlock(c *call, parts []*call) []byte { return sum(c, parts)[c.rank*c.block:][:c.block] }

func sumAtRoot(c *call, parts []*call) []byte {
	if c.rank != c.from {
		return nil
	}
	return sum(c, parts)
}

func gather(_ *call, parts []*call) (all []byte) {
	for _, part := range parts {
		all = append(all, part.send...)
	}
	return all
}

func transpose(c *call, parts []*call) (all []byte) {
	for _, part := range parts {
		all = append(all, part.send[c.rank*c.block:][:c.block]...)
	}
	return all
}

func fromOne(c *call, parts []*call) []byte { return slices.Clone(parts[c.from].send) }

// fake is one rank's Library, Communicator and Device.
type fake struct {
	group *group
	rank  int

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

func (f *fake) Init(_ [128]byte, _, number int) (rank.Communicator, error) {
	f.rank = number
	return f, nil
}

func (f *fake) Settled() (bool, error) {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	return f.group.broken == nil, f.group.broken
}

func (f *fake) AllReduce(send, recv uintptr, count int, stream uintptr) error {
	return f.call(&call{send: f.at(send, 4*count), recv: f.at(recv, 4*count), deliver: sum}, stream)
}

func (f *fake) AllGather(send, recv uintptr, count int, stream uintptr) error {
	return f.call(&call{send: f.at(send, 4*count), recv: f.at(recv, 4*count*f.group.size), block: 4 * count, deliver: gather}, stream)
}

func (f *fake) ReduceScatter(send, recv uintptr, count int, stream uintptr) error {
	return f.call(&call{send: f.at(send, 4*count*f.group.size), recv: f.at(recv, 4*count), block: 4 * count, deliver: sumBlock}, stream)
}

func (f *fake) Broadcast(send, recv uintptr, count, root int, stream uintptr) error {
	return f.call(&call{send: f.at(send, 4*count), recv: f.at(recv, 4*count), from: root, deliver: fromOne}, stream)
}

func (f *fake) Reduce(send, recv uintptr, count, root int, stream uintptr) error {
	return f.call(&call{send: f.at(send, 4*count), recv: f.at(recv, 4*count), from: root, deliver: sumAtRoot}, stream)
}

func (f *fake) AllToAll(send, recv uintptr, count, ranks int, stream uintptr) error {
	bytes := 4 * count * ranks
	return f.call(&call{send: f.at(send, bytes), recv: f.at(recv, bytes), block: 4 * count, deliver: transpose}, stream)
}

func (f *fake) SendRecv(send uintptr, to int, recv uintptr, from, count int, stream uintptr) error {
	if to != (f.rank+1)%f.group.size {
		return errors.New("not to the next rank")
	}
	return f.call(&call{send: f.at(send, 4*count), recv: f.at(recv, 4*count), from: from, deliver: fromOne}, stream)
}

func (f *fake) call(c *call, handle uintptr) error {
	f.calls++
	c.number, c.rank, c.stream = f.calls, f.rank, f.streams[handle-1]
	c.stream.begin()
	f.group.arrive(c)
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
