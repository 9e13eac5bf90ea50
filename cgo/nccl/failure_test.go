package nccl_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	abortLimit = time.Second
	pollLimit  = 100 * time.Millisecond
	// How soon the survivors must know of a death.
	noticeLimit = 2 * time.Second
)

// load is an operation with one of the sizes.
type load struct {
	operation string
	size      int
}

// loads is each operation with each of the sizes, in an order that stays.
func loads() []load {
	var all []load
	for _, operation := range slices.Sorted(maps.Keys(operations)) {
		for _, size := range sizes {
			all = append(all, load{operation, size})
		}
	}
	return all
}

// The tests with a random moment; `make matrix` asks for 200 rounds.
var (
	rounds = flag.Int("rounds", 21, "how often a peer is killed, and stopped, at a random moment")
	seed   = flag.Uint64("seed", 0, "of the random moments; 0 for another one each time")
)

// moments are random, and the same for the same seed.
type moments struct {
	*rand.Rand
	seed uint64
}

func newMoments() moments {
	m := moments{seed: *seed}
	if m.seed == 0 {
		m.seed = rand.Uint64()
	}
	m.Rand = rand.New(rand.NewPCG(m.seed, 0))
	return m
}

// await lets the ranks work for a while that differs from round to round.
func (m moments) await() { time.Sleep(time.Duration(m.IntN(30_000)) * time.Microsecond) }

// latencies are how long calls took, over all rounds and ranks.
type latencies struct{ abort, poll []time.Duration }

func (l *latencies) print(t *testing.T, m moments) {
	t.Helper()
	for name, took := range map[string][]time.Duration{"abort": l.abort, "slowest poll": l.poll} {
		slices.Sort(took)
		at := func(share float64) time.Duration { return took[int(share*float64(len(took)-1))] }
		t.Logf("%s of %d ranks: median %s, 90 %% %s, 99 %% %s, longest %s (seed %d)",
			name, len(took), at(0.5), at(0.9), at(0.99), at(1), m.seed)
	}
}

// sizes are few elements, where a message is one write, and many, where a
// death finds sends and receives half done.
var sizes = []int{3, 1_000_003, 20_000, 4_000_000}

// abortAll aborts in all ranks at once and holds each to the limits.
func abortAll(t *testing.T, ranks []*process) (took latencies) {
	t.Helper()
	for _, rank := range ranks {
		rank.send("abort world")
	}
	for i, rank := range ranks {
		var abort, poll int
		answer := rank.answer(rankLimit)
		_, err := fmt.Sscanf(answer, "ok %d %d", &abort, &poll)
		require.NoError(t, err, answer)
		took.abort = append(took.abort, time.Duration(abort)*time.Microsecond)
		took.poll = append(took.poll, time.Duration(poll)*time.Microsecond)
		require.Less(t, took.abort[i], abortLimit, "abort")
		require.Less(t, took.poll[i], pollLimit, "poll")
	}
	return took
}

func (l *latencies) add(more latencies) {
	l.abort, l.poll = append(l.abort, more.abort...), append(l.poll, more.poll...)
}

func without(ranks []*process, victim int) []*process {
	return append(append([]*process{}, ranks[:victim]...), ranks[victim+1:]...)
}

// atRandomMoments breaks one of three busy ranks, again and again, and hands
// over the others, which are still busy.
func atRandomMoments(t *testing.T, fault syscall.Signal, after func(t *testing.T, survivors []*process, victim int)) {
	t.Helper()
	moments, took := newMoments(), latencies{}
	for round := range *rounds {
		load, victim := loads()[round%len(loads())], round%3
		t.Run(fmt.Sprintf("%d %s %d", round, load.operation, load.size), func(t *testing.T) {
			ranks := startRanks(t, 3)
			connect("world", ranks)
			all(ranks, "busy world %s %d", load.operation, load.size)
			moments.await()
			require.NoError(t, ranks[victim].command.Process.Signal(fault))
			survivors := without(ranks, victim)
			after(t, survivors, victim)
			took.add(abortAll(t, survivors))
		})
	}
	took.print(t, moments)
}

func TestKilledPeerIsNamedAndAbortReturns(t *testing.T) {
	atRandomMoments(t, syscall.SIGKILL, func(t *testing.T, survivors []*process, victim int) {
		t.Helper()
		for _, rank := range survivors {
			rank.send("fail world")
		}
		for _, rank := range survivors {
			answer := rank.answer(noticeLimit)
			require.Contains(t, answer, "(code 6)")
			require.Contains(t, answer, fmt.Sprintf("rank %d ", victim), "names the lost rank")
			require.Contains(t, answer, "ended without leaving")
		}
	})
}

func TestStoppedPeerDelaysNeitherPollNorAbort(t *testing.T) {
	atRandomMoments(t, syscall.SIGSTOP, func(t *testing.T, survivors []*process, _ int) {
		t.Helper()
		time.Sleep(100 * time.Millisecond)
		all(survivors, "status world") // no error before the time limit
	})
}

func TestStoppedPeerBecomesAnErrorAfterTheTimeLimit(t *testing.T) {
	for name := range operations {
		t.Run(name, func(t *testing.T) {
			ranks := startRanks(t, 3, "HOSTCCL_TIMEOUT=1.5")
			connect("world", ranks)
			all(ranks, "busy world %s 100000", name)
			require.NoError(t, ranks[1].command.Process.Signal(syscall.SIGSTOP))
			survivors := without(ranks, 1)
			start := time.Now()
			for _, rank := range survivors {
				rank.send("fail world")
			}
			for _, rank := range survivors {
				require.Contains(t, rank.answer(10*time.Second), "(code 6)")
			}
			require.Greater(t, time.Since(start), time.Second)
			abortAll(t, survivors)
		})
	}
}

func TestAbortTellsTheOthers(t *testing.T) {
	for name := range operations {
		t.Run(name, func(t *testing.T) {
			ranks := startRanks(t, 3)
			connect("world", ranks)
			all(ranks, "busy world %s 20000", name)
			abortAll(t, ranks[:1])
			for _, rank := range ranks[1:] {
				require.Contains(t, rank.do("fail world"), "aborted the communicator")
			}
			abortAll(t, ranks[1:])
		})
	}
}

func TestLeavingInGoodOrderIsNoError(t *testing.T) {
	for range 5 {
		ranks := startRanks(t, 3)
		connect("world", ranks)
		all(ranks, "run world allreduce 1000")
		// The rank with the rendezvous goes first, and at once so does its process.
		ranks[0].send("leave world")
		require.NoError(t, ranks[0].command.Wait())
		for range 20 {
			all(ranks[1:], "status world")
		}
		all(ranks[1:], "destroy world")
	}
}

func TestDestroyRightAfterTheLastOperation(t *testing.T) {
	ranks := startRanks(t, 4)
	connect("world", ranks)
	for _, rank := range ranks {
		rank.send("run world allreduce 300007")
		rank.send("destroy world")
	}
	for _, rank := range ranks {
		require.Equal(t, "ok ", rank.answer(rankLimit))
		require.Equal(t, "ok ", rank.answer(rankLimit))
	}
}

func TestAbortLeavesBuffersAlone(t *testing.T) {
	ranks := startRanks(t, 1)
	connect("world", ranks)
	ranks[0].ok("untouched world 10000000")
}

func TestInitNamesTheMissingRank(t *testing.T) {
	ranks := startRanks(t, 2, "HOSTCCL_TIMEOUT=1")
	id := ranks[0].ok("id")
	start := time.Now()
	for i, rank := range ranks {
		rank.ok("init world %s 4 %d", id, i)
	}
	for _, rank := range ranks {
		require.Contains(t, rank.do("wait world"), "ranks 2, 3 of 4 did not come")
	}
	require.Less(t, time.Since(start), 3*time.Second)
	abortAll(t, ranks)
}

func TestAbortDuringInit(t *testing.T) {
	ranks := startRanks(t, 2)
	id := ranks[0].ok("id")
	for i, rank := range ranks {
		rank.ok("init world %s 3 %d", id, i)
	}
	newMoments().await()
	abortAll(t, ranks[1:])
	require.Contains(t, ranks[0].do("wait world"), "rank 1 ")
	abortAll(t, ranks[:1])
}

func TestStoppedPeerDuringInit(t *testing.T) {
	for round := range *rounds / 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			ranks := startRanks(t, 4)
			id := ranks[0].ok("id")
			for i, rank := range ranks {
				rank.send("init world %s 4 %d", id, i)
			}
			time.Sleep(time.Duration(rand.IntN(8_000)) * time.Microsecond)
			victim := round % len(ranks)
			require.NoError(t, ranks[victim].command.Process.Signal(syscall.SIGSTOP))
			survivors := without(ranks, victim)
			for _, rank := range survivors {
				require.True(t, strings.HasPrefix(rank.answer(rankLimit), "ok"))
			}
			time.Sleep(20 * time.Millisecond)
			abortAll(t, survivors)
		})
	}
}

func TestInitRefusesWhatCannotWork(t *testing.T) {
	ranks := startRanks(t, 2)
	id := ranks[0].ok("id")
	require.Contains(t, ranks[0].do("init world %s 2 2", id), "rank 2 of 2 ranks is not possible")
	require.Contains(t, ranks[0].do("init world %s 2 0", strings.Repeat("00", 128)), "not made by this library")
	for _, rank := range ranks {
		rank.ok("init world %s 2 0", id)
	}
	for _, rank := range ranks {
		require.Contains(t, rank.do("wait world"), "two processes have the same rank")
	}
	abortAll(t, ranks)
}

func TestSettingsThatAreNoNumbersOrInterfaces(t *testing.T) {
	for setting, want := range map[string]string{
		"HOSTCCL_TIMEOUT=soon":         "HOSTCCL_TIMEOUT=soon is not a number of seconds",
		"NCCL_SOCKET_IFNAME=nosuch":    "matches NCCL_SOCKET_IFNAME=nosuch",
		"NCCL_SOCKET_FAMILY=AF_PACKET": "NCCL_SOCKET_FAMILY=AF_PACKET is neither",
	} {
		require.Contains(t, startRank(t, setting).do("id"), want)
	}
}

func TestNothingIsLeftOfAbortedCommunicators(t *testing.T) {
	ranks := startRanks(t, 2)
	connect("world", ranks)
	abortAll(t, ranks)
	before := descriptors(t, ranks[1])
	for range 5 {
		connect("world", ranks)
		abortAll(t, ranks)
	}
	require.Eventually(t, func() bool { return descriptors(t, ranks[1]) <= before },
		5*time.Second, 10*time.Millisecond, "descriptors stay open")
}

func descriptors(t *testing.T, p *process) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.command.Process.Pid))
	require.NoError(t, err)
	return len(entries)
}

// Gloo writes without MSG_NOSIGNAL, so SIGPIPE would end a rank whose peer died.
func TestThreadsOfTheLibraryBlockSIGPIPE(t *testing.T) {
	ranks := startRanks(t, 2)
	connect("world", ranks)
	all(ranks, "run world allreduce 10")
	// Root, watch, Gloo's loop (which keeps the name of the init thread that made it) and the stream of the uploads.
	require.Eventually(t, func() bool { return libraryThreads(t, ranks[0]) >= 4 }, 5*time.Second, 10*time.Millisecond)
}

// libraryThreads counts the library's threads, all of which must block SIGPIPE.
func libraryThreads(t *testing.T, rank *process) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", rank.command.Process.Pid))
	require.NoError(t, err)
	seen := 0
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		if !strings.HasPrefix(string(status), "Name:\thostccl-") {
			continue
		}
		seen++
		_, blocked, _ := strings.Cut(string(status), "SigBlk:\t")
		mask, err := strconv.ParseUint(blocked[:16], 16, 64)
		require.NoError(t, err)
		require.NotZero(t, mask&(1<<(syscall.SIGPIPE-1)), string(status))
	}
	return seen
}
