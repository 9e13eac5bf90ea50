package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"slurm-preflight/collectives/protocol"
)

// Command says how a rank process is started.
type Command struct {
	Path string
	// Args gives the arguments of the rank with this number on the node.
	Args func(rank int) []string
	Env  []string
}

// The descriptors of a rank process. Its standard output belongs to the library, which may print there.
const (
	CommandsFD = 3
	AnswersFD  = 4
)

// Start starts a rank as a process of its own and listens to it. It is a Start.
func (c Command) Start(_ context.Context, rank int, answers chan<- Answer) (Process, error) {
	commandsIn, commandsOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start rank %d: %w", rank, err)
	}
	answersIn, answersOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start rank %d: %w", rank, err), commandsIn.Close(), commandsOut.Close())
	}
	p := &process{commands: json.NewEncoder(commandsOut), lease: commandsOut}
	p.cmd = exec.Command(c.Path, c.Args(rank)...) //nolint:gosec,noctx // our own program; Kill ends it, not a context
	p.cmd.Env = c.Env
	p.cmd.ExtraFiles = []*os.File{CommandsFD - 3: commandsIn, AnswersFD - 3: answersOut}
	p.cmd.Stdout, p.cmd.Stderr = &p.words, &p.words
	// A grandchild that keeps the output open must not keep us.
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	// The child has its own copies; ours would hide its end.
	closing := errors.Join(commandsIn.Close(), answersOut.Close())
	if err := errors.Join(err, closing); err != nil {
		return nil, errors.Join(fmt.Errorf("start rank %d: %w", rank, err), commandsOut.Close(), answersIn.Close())
	}
	go p.listen(rank, answersIn, answers)
	return p, nil
}

type process struct {
	cmd      *exec.Cmd
	commands *json.Encoder
	lease    *os.File // a rank ends when this pipe does, however we go
	words    tail
}

func (p *process) Send(command protocol.Message) error {
	if err := p.lease.SetWriteDeadline(time.Now().Add(grace)); err != nil {
		return fmt.Errorf("command a rank: %w", err)
	}
	if err := p.commands.Encode(command); err != nil {
		return fmt.Errorf("command a rank: %w", err)
	}
	return nil
}

func (p *process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	_ = p.lease.Close()
}

// State reads /proc. A process that was killed and is stuck in the kernel stays, whoever kills it.
func (p *process) State() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return "its process is gone"
	}
	// The letter stands behind the name, which may hold anything.
	_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
	return "its process " + states(rest)
}

func states(stat string) string {
	switch letter, _, _ := strings.Cut(stat, " "); letter {
	case "T", "t":
		return "is stopped"
	case "D":
		return "is stuck in the kernel, where nobody can kill it: look at the node's kernel log for its driver or file system"
	case "Z", "X":
		return "has ended"
	default:
		return "is in the collective library"
	}
}

// listen passes on what the rank says, and its end in words.
func (p *process) listen(rank int, from *os.File, answers chan<- Answer) {
	defer from.Close()
	said := json.NewDecoder(from)
	for {
		var message protocol.Message
		if err := said.Decode(&message); err != nil {
			break
		}
		answers <- Answer{Rank: rank, Message: message}
	}
	end := "ended"
	if err := p.cmd.Wait(); err != nil {
		end = "ended: " + err.Error()
	}
	text := fmt.Sprintf("the process of rank %d on this node %s", rank, end)
	if words := p.words.String(); words != "" {
		text += "; its last words: " + words
	}
	answers <- Answer{Rank: rank, Message: protocol.Message{Failed: &protocol.Failed{Error: text, Kind: protocol.KindDead}}}
}

// tail keeps the end of what a process printed.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 512

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if len(t.text) > maxTail {
		t.text = bytes.Clone(t.text[len(t.text)-maxTail:])
	}
	return len(text), nil
}

// String gives the text as one printable line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "?")), " ")
}
