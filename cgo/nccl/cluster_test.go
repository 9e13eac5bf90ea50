package nccl_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/cgo/hostccl/hostccltest"
)

const rankVariable = "NCCL_TEST_RANK_OF"

// library is libhostccl.so, built once for all tests.
var library string

func TestMain(m *testing.M) {
	if path := os.Getenv(rankVariable); path != "" {
		if err := rankMain(path, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	path, remove, err := hostccltest.Build("../hostccl/lib")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	library = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// process is a rank in a process of its own.
type process struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	lines   chan string
}

// startRank starts a process; env are further variables.
func startRank(t *testing.T, env ...string) *process {
	t.Helper()
	return startRankOf(t, library, env...)
}

// startRankOf starts a process that uses another library.
func startRankOf(t *testing.T, path string, env ...string) *process {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), append(env, rankVariable+"="+path)...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	p := &process{t: t, command: command, in: in, lines: make(chan string, 16)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return p
}

func startRanks(t *testing.T, count int, env ...string) []*process {
	t.Helper()
	ranks := make([]*process, count)
	for i := range ranks {
		ranks[i] = startRank(t, env...)
	}
	return ranks
}

func (p *process) send(format string, args ...any) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
}

// answer is the next line of the process.
func (p *process) answer(limit time.Duration) string {
	p.t.Helper()
	select {
	case line, open := <-p.lines:
		require.True(p.t, open, "the rank's process ended")
		return line
	case <-time.After(limit):
		require.FailNow(p.t, "no answer", "within %v", limit)
		return ""
	}
}

func (p *process) do(format string, args ...any) string {
	p.t.Helper()
	p.send(format, args...)
	return p.answer(rankLimit)
}

func (p *process) ok(format string, args ...any) string {
	p.t.Helper()
	answer := p.do(format, args...)
	rest, ok := strings.CutPrefix(answer, "ok ")
	require.True(p.t, ok, "%s: %s", fmt.Sprintf(format, args...), answer)
	return rest
}

// all sends the same command to all ranks at once and wants "ok" from each.
func all(ranks []*process, format string, args ...any) {
	for _, rank := range ranks {
		rank.t.Helper()
		rank.send(format, args...)
	}
	for i, rank := range ranks {
		answer := rank.answer(rankLimit)
		require.True(rank.t, strings.HasPrefix(answer, "ok"), "rank %d: %s", i, answer)
	}
}

// connect makes a communicator of all ranks and waits until it is ready.
func connect(name string, ranks []*process) {
	id := ranks[0].ok("id")
	for i, rank := range ranks {
		rank.t.Helper()
		rank.ok("init %s %s %d %d", name, id, len(ranks), i)
	}
	all(ranks, "wait %s", name)
}
