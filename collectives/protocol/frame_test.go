package protocol_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives/protocol"
)

const nonce = "5c0ffee5"

func failed(text string) protocol.Message {
	return protocol.Message{Failed: &protocol.Failed{Phase: protocol.PhaseRun, Error: text}}
}

func encode(t *testing.T, sender string, messages ...protocol.Message) string {
	t.Helper()
	var out bytes.Buffer
	w := protocol.NewWriter(&out, nonce, sender)
	for _, m := range messages {
		require.NoError(t, w.Send(m))
	}
	return out.String()
}

// readAll returns what each sender said, in order.
func readAll(t *testing.T, stream string) map[string][]string {
	t.Helper()
	said := map[string][]string{}
	r := protocol.NewReader(strings.NewReader(stream), nonce, slog.New(slog.DiscardHandler))
	for {
		sender, message, err := r.Next()
		if err == io.EOF { //nolint:errorlint // Next documents io.EOF itself
			return said
		}
		require.NoError(t, err)
		require.NotNil(t, message.Failed)
		said[sender] = append(said[sender], message.Failed.Error)
	}
}

func TestFramesAreShortLines(t *testing.T) {
	name := strings.Repeat("n", protocol.MaxName)
	stream := encode(t, name, failed(strings.Repeat("x", 100_000)))
	for _, line := range strings.SplitAfter(stream, "\n") {
		require.LessOrEqual(t, len(line)+1, protocol.MaxFrame)
	}
	require.Equal(t, map[string][]string{name: {strings.Repeat("x", 100_000)}}, readAll(t, stream))
}

func TestNoiseIsIgnored(t *testing.T) {
	good := encode(t, "n1", failed("hurt"))
	tests := map[string]string{
		"a prolog that prints":          "loading modules\n" + good + "done\n",
		"a prolog without a line feed":  "loading modules " + good,
		"a frame behind a text":         "loading modules " + strings.TrimLeft(good, "\n"),
		"a line of 64 kB":               strings.Repeat("z", 64<<10) + strings.TrimLeft(good, "\n"),
		"a 64 kB line of its own":       strings.Repeat("z", 64<<10) + "\n" + good,
		"nothing but frames of another": strings.ReplaceAll(good, nonce, "deadbeef") + good,
		"control characters":            "\x00\x1b[2J\r\n" + good,
		"carriage returns":              strings.ReplaceAll(good, "\n", "\r\n"),
		"half a frame, then the whole":  good[:20] + good,
		"no line feed at the end":       strings.TrimRight(good, "\n"),
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, map[string][]string{"n1": {"hurt"}}, readAll(t, stream))
		})
	}
}

func TestDamagedFramesAreDropped(t *testing.T) {
	good := encode(t, "n1", failed("hurt"))
	long := strings.SplitAfter(encode(t, "n1", failed(strings.Repeat("x", 2500))), "\n")
	tests := map[string]string{
		"a changed byte":      strings.Replace(good, "hurt", "hurl", 1),
		"a cut end":           good[:len(good)-4] + "\n",
		"a missing part":      strings.Join(append(append([]string{}, long[:2]...), long[4:]...), ""),
		"a part twice":        strings.Join(append(append([]string{}, long[:4]...), long[2:]...), ""),
		"no number":           strings.Replace(good, " 1 1/1 ", " x 1/1 ", 1),
		"part 0":              strings.Replace(good, " 1/1 ", " 0/1 ", 1),
		"part after the last": strings.Replace(good, " 1/1 ", " 2/1 ", 1),
		"too many parts":      strings.Replace(good, " 1/1 ", " 1/99999 ", 1),
		"huge number":         strings.Replace(good, " 1/1 ", " 1/99999999999999999999 ", 1),
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			after := encode(t, "n2", failed("fine"))
			require.Equal(t, map[string][]string{"n2": {"fine"}}, readAll(t, stream+after))
		})
	}
}

// srun mixes the output of its tasks as measured: whole lines up to 1,024
// bytes, longer ones in pieces of 1,024, in any order between tasks.
func srun(random *rand.Rand, tasks [][]byte) string {
	var out bytes.Buffer
	for {
		var live []int
		for i, rest := range tasks {
			if len(rest) > 0 {
				live = append(live, i)
			}
		}
		if len(live) == 0 {
			return out.String()
		}
		i := live[random.IntN(len(live))]
		end := bytes.IndexByte(tasks[i], '\n') + 1
		if end == 0 || end > 1024 {
			end = min(1024, len(tasks[i]))
		}
		out.Write(tasks[i][:end])
		tasks[i] = tasks[i][end:]
	}
}

func TestMessagesSurviveSrun(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		want := map[string][]string{}
		var tasks [][]byte
		for n := range 8 {
			name := fmt.Sprintf("n%d", n)
			stream := strings.Repeat("p", random.IntN(70_000))
			for range 3 {
				text := strings.Repeat("é\"\n", random.IntN(2000)) + name
				want[name] = append(want[name], text)
				stream += encodeNext(t, name, text, len(want[name]))
				stream += strings.Repeat("q", random.IntN(100)) + "\n"
			}
			tasks = append(tasks, []byte(stream))
		}
		require.Equal(t, want, readAll(t, srun(random, tasks)))
	}
}

// encodeNext encodes text as the sender's message number sequence.
func encodeNext(t *testing.T, sender, text string, sequence int) string {
	t.Helper()
	var out bytes.Buffer
	w := protocol.NewWriter(&out, nonce, sender)
	for range sequence - 1 {
		require.NoError(t, w.Send(failed("")))
	}
	out.Reset()
	require.NoError(t, w.Send(failed(text)))
	return out.String()
}

func FuzzReader(f *testing.F) {
	f.Add("pf1 5c0ffee5 n1 1 1/1 00000000 {}\n")
	f.Add("\npf1 5c0ffee5 n1 1 1/2 00000000 {\"hello\":{}}\nx")
	f.Fuzz(func(t *testing.T, stream string) {
		r := protocol.NewReader(strings.NewReader(stream), nonce, slog.New(slog.DiscardHandler))
		for {
			if _, _, err := r.Next(); err != nil {
				require.ErrorIs(t, err, io.EOF)
				return
			}
		}
	})
}
