package rank_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/rank"
)

// serve lets all ranks of a group obey the commands and returns what each said.
func serve(t *testing.T, g *group, commands ...protocol.Message) [][]protocol.Message {
	t.Helper()
	said := make([][]protocol.Message, g.size)
	var ranks sync.WaitGroup
	for number := range g.size {
		ranks.Go(func() {
			var in, out bytes.Buffer
			init := protocol.Init{UID: make([]byte, 128), Ranks: g.size, First: []int{number}, Timeout: time.Minute}
			encoder := json.NewEncoder(&in)
			for _, command := range append([]protocol.Message{{Init: &init}}, commands...) {
				if encoder.Encode(command) != nil {
					return
				}
			}
			f := newFake(g)
			if rank.Serve(t.Context(), &in, &out, number == 0, f, f) != nil {
				return
			}
			for decoder := json.NewDecoder(&out); decoder.More(); {
				var message protocol.Message
				if decoder.Decode(&message) != nil {
					return
				}
				said[number] = append(said[number], message)
			}
		})
	}
	ranks.Wait()
	return said
}

func run(bytes int64, timeout time.Duration) protocol.Message {
	return runOp(collectives.AllReduce, bytes, timeout)
}

func runOp(op collectives.Op, bytes int64, timeout time.Duration) protocol.Message {
	return protocol.Message{Run: &protocol.Run{Op: string(op), Bytes: bytes, Iterations: 3, Timeout: timeout}}
}

func TestRanksMeasureAndCheck(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5} {
		var commands []protocol.Message
		// The least, and what does not divide; between few ranks also more than the pattern has.
		sizes := []int64{16 * int64(size), 1<<17 + 52}
		if size < 4 {
			sizes = append(sizes, 1<<20+100)
		}
		for _, op := range collectives.Ops {
			for _, bytes := range sizes {
				commands = append(commands, runOp(op, bytes, time.Minute))
			}
		}
		for number, messages := range serve(t, &group{size: size}, commands...) {
			require.Len(t, messages, 2+len(commands))
			require.Equal(t, number == 0, messages[0].Hello.UID != nil, "only the first makes a unique id")
			require.NotNil(t, messages[1].Ready)
			for i, message := range messages[2:] {
				require.NotNil(t, message.Result, "%+v: %+v", commands[i].Run, message.Failed)
				require.Zero(t, message.Result.Wrong, "%+v", commands[i].Run)
				require.Empty(t, message.Result.WrongRanks)
			}
		}
	}
}

func TestWrongResultsAreSeen(t *testing.T) {
	tests := map[string]struct {
		group *group
		wrong int64
	}{
		"one element of each sum": {&group{spoil: func(_ *call, d []byte) { d[len(d)/2] ^= 1 }}, 1},
		"nothing delivered":       {&group{lose: 1}, 1<<18 + 16},
		"nothing any more":        {&group{lose: 4}, 1<<18 + 16}, // a good first run of 3, then its old sums
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.group.size = 2
			for number, messages := range serve(t, test.group, run(1<<20+64, time.Minute), run(1<<20+64, time.Minute)) {
				require.Equal(t, test.wrong, messages[3].Result.Wrong)
				require.Equal(t, []protocol.WrongRank{{Rank: number, Elements: test.wrong}}, messages[3].Result.WrongRanks)
			}
		})
	}
}

// One element that one rank received wrong is seen there, and only there.
func TestOneWrongElementNamesItsRank(t *testing.T) {
	for _, op := range collectives.Ops {
		victim := 2
		if op == collectives.Reduce {
			victim = 0 // only the root receives
		}
		for _, element := range []int{77, -1} {
			g := &group{size: 3, spoil: func(c *call, d []byte) {
				if c.rank == victim {
					d[(len(d)+4*element)%len(d)] ^= 0x80
				}
			}}
			for number, messages := range serve(t, g, runOp(op, 1<<20+64, time.Minute)) {
				var want int64
				if number == victim {
					want = 1
				}
				require.Equal(t, want, messages[2].Result.Wrong, "rank %d, element %d of %s", number, element, op)
			}
		}
	}
}

// Data that came to the wrong place, or from the wrong rank, is whole and yet wrong.
func TestMisplacedBlocksAreSeen(t *testing.T) {
	const size, block = 4, 1 << 16 // blocks as regular as can be
	swap := func(c *call, d []byte) {
		if len(d) > c.block && c.block > 0 {
			first := append([]byte{}, d[:c.block]...)
			copy(d, d[c.block:2*c.block])
			copy(d[c.block:], first)
		}
	}
	// next delivers to each rank what belongs to the next one.
	next := func(deliver func(c *call, parts []*call) []byte) func(c *call, parts []*call) []byte {
		return func(c *call, parts []*call) []byte {
			other := *c
			other.rank, other.from = (c.rank+1)%len(parts), (c.from+1)%len(parts)
			return deliver(&other, parts)
		}
	}
	tests := map[string]struct {
		op    collectives.Op
		spoil func(c *call, d []byte)
		wrong func(c *call, parts []*call) []byte
		most  float64 // of all elements that may be right by chance
	}{
		"gathered in another order":    {op: collectives.AllGather, spoil: swap, most: 0.5},
		"exchanged in another order":   {op: collectives.AllToAll, spoil: swap, most: 0.5},
		"exchanged with another rank":  {op: collectives.AllToAll, wrong: next(transpose), most: 0.05},
		"another block of the sum":     {op: collectives.ReduceScatter, wrong: next(sumBlock), most: 0.05},
		"broadcast from another rank":  {op: collectives.Broadcast, wrong: next(fromOne)},
		"received from another rank":   {op: collectives.SendRecv, wrong: next(fromOne)},
		"a rank's share added twice":   {op: collectives.AllReduce, wrong: twice},
		"the same, at the root":        {op: collectives.Reduce, wrong: twice},
		"the same, in a block of sums": {op: collectives.ReduceScatter, wrong: func(c *call, parts []*call) []byte { return twice(c, parts)[c.rank*c.block:][:c.block] }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			said := serve(t, &group{size: size, spoil: test.spoil, wrong: test.wrong}, runOp(test.op, size*block, time.Minute))
			elements, _, err := test.op.Count(size*block, size)
			require.NoError(t, err)
			if test.op == collectives.AllGather || test.op == collectives.AllToAll {
				elements *= size
			}
			for number, messages := range said {
				if test.op == collectives.Reduce && number > 0 {
					continue
				}
				require.GreaterOrEqual(t, float64(messages[2].Result.Wrong), (1-test.most)*float64(elements), "rank %d", number)
			}
		})
	}
}

// twice forgets rank 1 and takes rank 2 for it.
func twice(c *call, parts []*call) []byte {
	return sum(c, []*call{parts[0], parts[2], parts[2], parts[3]})
}

func TestRankExplainsItsFailure(t *testing.T) {
	tests := map[string]struct {
		group   *group
		command protocol.Message
		phase   protocol.Phase
		why     string
	}{
		"a broken communicator": {&group{broken: errors.New("peer lost")}, run(4, time.Minute), protocol.PhaseInit, "peer lost"},
		"an operation it does not know": {
			&group{},
			protocol.Message{Run: &protocol.Run{Op: "allscatter", Bytes: 4, Iterations: 1, Timeout: time.Minute}},
			protocol.PhaseRun, "allscatter",
		},
		"nothing to measure": {&group{}, run(3, time.Minute), protocol.PhaseRun, "too small"},
		"an empty command":   {&group{}, protocol.Message{}, protocol.PhaseRun, "does not know"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.group.size = 1
			messages := serve(t, test.group, test.command)[0]
			var failed *protocol.Failed
			for _, message := range messages {
				if message.Failed != nil {
					failed = message.Failed
					break
				}
			}
			require.NotNil(t, failed)
			require.Equal(t, test.phase, failed.Phase)
			require.Contains(t, failed.Error, test.why)
		})
	}
}

// What waits in good health is no suspect, and says so at once.
func TestRankThatWaitsSaysSo(t *testing.T) {
	tests := map[string]struct {
		commands []protocol.Message
		why      string
	}{
		"until its time is up":     {[]protocol.Message{run(4, 20*time.Millisecond)}, "did not come in time"},
		"until it is told to halt": {[]protocol.Message{run(4, time.Minute), {Halt: &protocol.Halt{}}}, "told to halt"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			messages := serve(t, &group{size: 1, stuck: true}, test.commands...)[0]
			require.Len(t, messages, 3)
			failed := messages[2].Failed
			require.NotNil(t, failed)
			require.Equal(t, protocol.KindWaiting, failed.Kind)
			require.Contains(t, failed.Error, test.why)
		})
	}
}

// An abort breaks the communicator for all others: not before the gate has seen who broke first.
func TestBrokenCommunicatorIsAbortedAtTheEnd(t *testing.T) {
	init := protocol.Message{Init: &protocol.Init{UID: make([]byte, 128), Ranks: 1, First: []int{0}, Timeout: time.Minute}}
	for name, commands := range map[string][]protocol.Message{"failed": {init}, "told to quit": {init, {Quit: &protocol.Quit{}}}} {
		var in, out bytes.Buffer
		for _, command := range commands {
			require.NoError(t, json.NewEncoder(&in).Encode(command))
		}
		f := newFake(&group{size: 1, broken: errors.New("peer lost")})
		require.NoError(t, rank.Serve(t.Context(), &in, &out, false, f, f))
		require.Equal(t, name == "told to quit", f.aborted, name)
	}
}
