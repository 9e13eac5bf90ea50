package rank_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	return protocol.Message{Run: &protocol.Run{Op: "allreduce", Bytes: bytes, Iterations: 3, Timeout: timeout}}
}

func TestRanksMeasureAndCheck(t *testing.T) {
	for _, size := range []int{1, 2, 3, 17} {
		for _, bytes := range []int64{4, 1 << 20, 3<<20 + 4} { // one element, whole blocks, a rest
			said := serve(t, &group{size: size}, run(bytes, time.Minute), run(bytes/2+4, time.Minute))
			for number, messages := range said {
				require.Len(t, messages, 4)
				require.Equal(t, number == 0, messages[0].Hello.UID != nil, "only the first makes a unique id")
				require.NotNil(t, messages[1].Ready)
				for _, message := range messages[2:] {
					require.NotNil(t, message.Result, message.Failed)
					require.Zero(t, message.Result.Wrong)
				}
			}
		}
	}
}

func TestWrongResultsAreSeen(t *testing.T) {
	tests := map[string]struct {
		group *group
		wrong int64
	}{
		"one element of each sum": {&group{flip: true}, 1},
		"nothing delivered":       {&group{lose: 1}, 3 << 18},
		"nothing any more":        {&group{lose: 4}, 3 << 18}, // a good first run of 3, then its old sums
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.group.size = 2
			for _, messages := range serve(t, test.group, run(3<<20, time.Minute), run(3<<20, time.Minute)) {
				require.Equal(t, test.wrong, messages[3].Result.Wrong)
			}
		})
	}
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
		"nothing to measure": {&group{}, run(3, time.Minute), protocol.PhaseRun, "0 elements"},
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

func TestBrokenCommunicatorIsAborted(t *testing.T) {
	var in, out bytes.Buffer
	require.NoError(t, json.NewEncoder(&in).Encode(protocol.Message{
		Init: &protocol.Init{UID: make([]byte, 128), Ranks: 1, First: []int{0}, Timeout: time.Minute},
	}))
	f := newFake(&group{size: 1, broken: errors.New("peer lost")})
	require.NoError(t, rank.Serve(t.Context(), &in, &out, false, f, f))
	require.True(t, f.aborted)
}
