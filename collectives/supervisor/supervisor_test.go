package supervisor_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/supervisor"
)

const (
	nonce     = "5c0ffee5"
	rankWords = "PREFLIGHT_TEST_RANK"
)

// TestMain is also a rank process: the supervisor starts this very program, and
// the words in its environment say how it behaves.
func TestMain(m *testing.M) {
	if fault, isRank := os.LookupEnv(rankWords); isRank {
		os.Exit(behave(fault))
	}
	os.Exit(m.Run())
}

func behave(fault string) int {
	answers := json.NewEncoder(os.NewFile(supervisor.AnswersFD, "answers"))
	say := func(message protocol.Message) { _ = answers.Encode(message) }
	fmt.Println("a library prints here")
	if fault == "dies at once" {
		fmt.Fprintln(os.Stderr, "no such device")
		return 3
	}
	if fault == "loads for ever" {
		time.Sleep(time.Hour)
	}
	say(protocol.Message{Hello: &protocol.Hello{Library: protocol.Library{Name: "fake"}}})
	commands := json.NewDecoder(os.NewFile(supervisor.CommandsFD, "commands"))
	for {
		var command protocol.Message
		if commands.Decode(&command) != nil || command.Quit != nil {
			return 0
		}
		switch {
		case command.Init != nil:
			say(protocol.Message{Ready: &protocol.Ready{}})
		case fault == "dies in run":
			fmt.Fprintln(os.Stderr, "illegal instruction")
			return 4
		case fault == "hangs in run":
			time.Sleep(time.Hour)
		case command.Halt != nil:
			say(protocol.Message{Failed: &protocol.Failed{Kind: protocol.KindWaiting, Error: "it waited"}})
		case fault == "waits in run":
		case fault == "loses rank 1" && os.Args[1] == "1":
			time.Sleep(100 * time.Millisecond)
			return 5
		case fault == "loses rank 1":
			say(protocol.Message{Failed: &protocol.Failed{Error: "a peer is lost"}})
		default:
			say(protocol.Message{Result: &protocol.Result{Median: time.Second, Wrong: 1, WrongRanks: []protocol.WrongRank{{Rank: 7, Elements: 1}}}})
		}
	}
}

// node is a supervisor under test and the conductor's end of its streams.
type node struct {
	t     *testing.T
	to    *protocol.Writer
	input *io.PipeWriter
	from  *protocol.Reader
	ended chan error
}

func start(t *testing.T, ranks int, fault string) node {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	in, input := io.Pipe()
	output, out := io.Pipe()
	n := node{
		t: t, to: protocol.NewWriter(input, nonce, "conductor"), input: input,
		from: protocol.NewReader(bufio.NewReader(output), nonce, slog.New(slog.DiscardHandler)), ended: make(chan error, 1),
	}
	command := supervisor.Command{Path: self, Env: []string{rankWords + "=" + fault}, Args: func(rank int) []string { return []string{strconv.Itoa(rank)} }}
	go func() {
		n.ended <- supervisor.Run(t.Context(), supervisor.Node{Name: "n1", Ranks: ranks}, in, out, nonce, command.Start)
		_ = out.Close()
	}()
	return n
}

// hears returns the next message.
func (n node) hears() protocol.Message {
	n.t.Helper()
	sender, message, err := n.from.Next()
	require.NoError(n.t, err)
	require.Equal(n.t, "n1", sender)
	return message
}

func (n node) says(message protocol.Message) {
	n.t.Helper()
	require.NoError(n.t, n.to.Send(message))
}

// ends asserts that the supervisor and all its ranks are gone.
func (n node) ends() {
	n.t.Helper()
	go func() { // srun reads to the end
		for err := error(nil); err == nil; _, _, err = n.from.Next() {
		}
	}()
	select {
	case err := <-n.ended:
		require.NoError(n.t, err)
	case <-time.After(10 * time.Second):
		require.Fail(n.t, "the supervisor does not end")
	}
	require.Eventually(n.t, func() bool { return children() == 0 }, 5*time.Second, 10*time.Millisecond, "ranks are left")
}

// children counts the ranks that are left.
func children() int { return len(pids()) }

// pids are the ranks that are left, over all threads that may have started one.
func pids() []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		panic(err)
	}
	var found []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				found = append(found, pid)
			}
		}
	}
	return found
}

var (
	initAll = protocol.Message{Init: &protocol.Init{UID: make([]byte, 128), Ranks: 2, First: []int{0}, Timeout: time.Minute}}
	runOnce = protocol.Message{Run: &protocol.Run{Op: "allreduce", Bytes: 4, Iterations: 1, Timeout: time.Minute}}
	quit    = protocol.Message{Quit: &protocol.Quit{}}
	halt    = protocol.Message{Halt: &protocol.Halt{}}
)

func TestRanksAnswerAsOneNode(t *testing.T) {
	n := start(t, 2, "")
	hello := n.hears().Hello
	require.Equal(t, 2, hello.Ranks)
	require.Equal(t, "fake", hello.Library.Name)
	n.says(initAll)
	require.NotNil(t, n.hears().Ready)
	n.says(runOnce)
	wrong := protocol.WrongRank{Rank: 7, Elements: 1}
	require.Equal(t, &protocol.Result{Median: time.Second, Wrong: 2, WrongRanks: []protocol.WrongRank{wrong, wrong}}, n.hears().Result)
	n.says(quit)
	n.ends()
}

func TestDeadRankIsExplained(t *testing.T) {
	for fault, words := range map[string]string{"dies at once": "no such device", "dies in run": "illegal instruction"} {
		t.Run(fault, func(t *testing.T) {
			n := start(t, 2, fault)
			if fault == "dies in run" {
				require.NotNil(t, n.hears().Hello)
				n.says(runOnce)
			}
			failed := n.hears().Failed
			require.NotNil(t, failed)
			require.Contains(t, failed.Error, words)
			require.Contains(t, failed.Error, "exit status")
			require.Equal(t, protocol.KindDead, failed.Kind)
			n.says(quit)
			n.ends()
		})
	}
}

func TestHaltTellsWaitingFromStuck(t *testing.T) {
	for fault, want := range map[string]protocol.Failed{
		"waits in run": {Phase: protocol.PhaseRun, Kind: protocol.KindWaiting, Error: "it waited"},
		"hangs in run": {
			Phase: protocol.PhaseRun, Kind: protocol.KindDead,
			Error: "rank 0 on this node does not react: its process is in the collective library",
		},
	} {
		t.Run(fault, func(t *testing.T) {
			n := start(t, 2, fault)
			require.NotNil(t, n.hears().Hello)
			command := runOnce
			command.Number = 7
			n.says(command)
			n.says(halt)
			answer := n.hears()
			require.Equal(t, &want, answer.Failed)
			require.Equal(t, 7, answer.Number, "it answers the command, not the halt")
			n.says(quit)
			n.ends()
		})
	}
}

// A rank that loads its library cannot react, and is no suspect for that alone.
func TestLoadingRankIsNotDead(t *testing.T) {
	n := start(t, 2, "loads for ever")
	require.Eventually(t, func() bool { return children() == 2 }, 5*time.Second, time.Millisecond)
	n.says(halt)
	failed := n.hears().Failed
	require.NotNil(t, failed)
	require.Equal(t, protocol.KindWaiting, failed.Kind)
	require.Contains(t, failed.Error, "rank 0 on this node was still loading")
	n.says(quit)
	n.ends()
}

func TestStoppedRankIsNamedWhenOthersOnlyWait(t *testing.T) {
	n := start(t, 3, "waits in run")
	require.NotNil(t, n.hears().Hello)
	n.says(runOnce)
	stopped := pids()[0]
	require.NoError(t, syscall.Kill(stopped, syscall.SIGSTOP))
	n.says(halt)
	failed := n.hears().Failed
	require.NotNil(t, failed)
	require.Equal(t, protocol.KindDead, failed.Kind)
	require.Contains(t, failed.Error, "its process is stopped")
	n.says(quit)
	n.ends()
}

// One rank's death breaks its neighbours: the dead one speaks for the node.
func TestDeathOutweighsTheErrorsThatItCauses(t *testing.T) {
	n := start(t, 3, "loses rank 1")
	require.NotNil(t, n.hears().Hello)
	n.says(runOnce)
	failed := n.hears().Failed
	require.NotNil(t, failed)
	require.Equal(t, protocol.KindDead, failed.Kind)
	require.Equal(t, 1, failed.Rank)
	require.Contains(t, failed.Error, "exit status 5")
	n.says(quit)
	n.ends()
}

func TestEndOfTheConductorEndsHangingRanks(t *testing.T) {
	n := start(t, 2, "hangs in run")
	require.NotNil(t, n.hears().Hello)
	n.says(runOnce)
	require.NoError(t, n.input.Close())
	n.ends()
}

func TestRankThatCannotBeStarted(t *testing.T) {
	_, err := supervisor.Command{Path: "/nope/preflight-worker", Args: func(int) []string { return nil }}.Start(t.Context(), 0, nil)
	require.ErrorContains(t, err, "/nope/preflight-worker")
	require.ErrorIs(t, err, os.ErrNotExist)
}
