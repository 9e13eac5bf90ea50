package nccl_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	rounds      = 20
)

// everyOperation is each operation with each of the sizes.
func everyOperation() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for name := range operations {
			for _, size := range sizes {
				if !yield(name, size) {
					return
				}
			}
		}
	}
}

// sizes are few elements, where a message is one write, and many, where a
// death finds sends and receives half done.
var sizes = []int{3, 1_000_003, 20_000, 4_000_000}

// abortAll aborts in all ranks at once and holds each to the limits.
func abortAll(t *testing.T, ranks []*process) {
	t.Helper()
	for _, rank := range ranks {
		rank.send("abort world")
	}
	for i, rank := range ranks {
		var abort, poll int
		answer := rank.answer(rankLimit)
		_, err := fmt.Sscanf(answer, "ok %d %d", &abort, &poll)
		require.NoError(t, err, answer)
		t.Logf("rank %d: abort %d µs, slowest poll %d µs", i, abort, poll)
		require.Less(t, time.Duration(abort)*time.Microsecond, abortLimit, "abort")
		require.Less(t, time.Duration(poll)*time.Microsecond, pollLimit, "poll")
	}
}

// randomMoment lets the ranks work for a while that differs from round to round.
func randomMoment() { time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond) }

func without(ranks []*process, victim int) []*process {
	return append(append([]*process{}, ranks[:victim]...), ranks[victim+1:]...)
}

func TestKilledPeerIsNamedAndAbortReturns(t *testing.T) {
	for name, size := range everyOperation() {
		t.Run(fmt.Sprintf("%s %d", name, size), func(t *testing.T) {
			ranks := startRanks(t, 3)
			connect("world", ranks)
			all(ranks, "busy world %s %d", name, size)
			randomMoment()
			victim := rand.IntN(len(ranks))
			require.NoError(t, ranks[victim].command.Process.Kill())
			survivors := without(ranks, victim)
			for _, rank := range survivors {
				rank.send("fail world")
			}
			for _, rank := range survivors {
				answer := rank.answer(noticeLimit)
				require.Contains(t, answer, "(code 6)")
				require.Contains(t, answer, fmt.Sprintf("rank %d ", victim), "names the lost rank")
				require.Contains(t, answer, "ended without leaving")
			}
			abortAll(t, survivors)
		})
	}
}

func TestStoppedPeerDelaysNeitherPollNorAbort(t *testing.T) {
	for name, size := range everyOperation() {
		t.Run(fmt.Sprintf("%s %d", name, size), func(t *testing.T) {
			ranks := startRanks(t, 3)
			connect("world", ranks)
			all(ranks, "busy world %s %d", name, size)
			randomMoment()
			victim := rand.IntN(len(ranks))
			require.NoError(t, ranks[victim].command.Process.Signal(syscall.SIGSTOP))
			survivors := without(ranks, victim)
			time.Sleep(100 * time.Millisecond)
			all(survivors, "status world") // no error before the time limit
			abortAll(t, survivors)
		})
	}
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
	randomMoment()
	abortAll(t, ranks[1:])
	require.Contains(t, ranks[0].do("wait world"), "rank 1 ")
	abortAll(t, ranks[:1])
}

func TestStoppedPeerDuringInit(t *testing.T) {
	for round := range rounds / 2 {
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
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", ranks[0].command.Process.Pid))
	require.NoError(t, err)
	seen := 0
	for _, task := range tasks {
		status, err := os.ReadFile(task)
		require.NoError(t, err)
		if !strings.HasPrefix(string(status), "Name:\thostccl-") {
			continue
		}
		seen++
		_, blocked, _ := strings.Cut(string(status), "SigBlk:\t")
		mask, err := strconv.ParseUint(blocked[:16], 16, 64)
		require.NoError(t, err)
		require.NotZero(t, mask&(1<<(syscall.SIGPIPE-1)), string(status))
	}
	// Root, watch, Gloo's loop (which keeps the name of the init thread that made it) and the stream of the uploads.
	require.GreaterOrEqual(t, seen, 4)
}
