package conductor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/supervisor"
)

// machine is a node of a fake cluster and what is wrong with it.
type machine struct {
	name    string
	took    time.Duration // of one iteration over a mebibyte or less
	ranks   int           // 0 stands for 1
	wrong   int64         // elements that each of its ranks in wrongs gets wrong
	wrongs  []int         // places of ranks on the node
	version string

	refuses string         // its library cannot be loaded, for this reason
	breaks  protocol.Phase // a rank reports an error in this phase
	dies    protocol.Phase // the node is gone in this phase
	ends    protocol.Phase // a rank's process ends in this phase
	waits   protocol.Phase // its ranks wait for others for ever
	stuck   protocol.Phase // its ranks react to nothing any more
	fades   protocol.Phase // the node is gone soon after it has answered in this phase
	late    time.Duration  // how long a rank takes
	paused  int            // so many of its first runs are interrupted
}

// cluster runs one real supervisor per machine, with fake ranks, behind a step
// that mixes their lines. It implements conductor.Step.
type cluster struct {
	cancel context.CancelFunc
	inputs []chan []byte
	output *io.PipeReader
	words  string
	lost   map[string]string
	done   sync.WaitGroup
	id     string // under which it was ended
}

func launch(nonce string, machines ...machine) *cluster {
	ctx, cancel := context.WithCancel(context.Background())
	output, mixer := io.Pipe()
	c := &cluster{cancel: cancel, output: output}
	lines := &lineWriter{turn: make(chan struct{}, 1), out: mixer}
	for id, m := range machines {
		in, write := io.Pipe()
		input := make(chan []byte, 16)
		c.inputs = append(c.inputs, input)
		go feed(write, input)
		c.done.Go(func() { m.supervise(ctx, id, nonce, in, lines) })
	}
	go func() {
		c.done.Wait()
		_ = mixer.Close()
	}()
	return c
}

// feed hands a node its input in order, as long as the node reads.
func feed(to *io.PipeWriter, input <-chan []byte) {
	for text := range input {
		_, _ = to.Write(text)
	}
	_ = to.Close()
}

// Write reaches every supervisor that still reads, as srun's input does.
func (c *cluster) Write(text []byte) (int, error) {
	for _, input := range c.inputs {
		input <- bytes.Clone(text)
	}
	return len(text), nil
}

func (c *cluster) Output() io.Reader { return c.output }
func (c *cluster) Words() string     { return c.words }

func (c *cluster) Lost() map[string]string { return c.lost }

func (c *cluster) Wait(context.Context) string { return "the launcher ended" }

func (c *cluster) End(ctx context.Context, id string) error {
	c.id = id
	c.cancel()
	for _, input := range c.inputs {
		close(input)
	}
	ended := make(chan struct{})
	go func() { c.done.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errors.New("a supervisor did not end")
	}
}

// lineWriter lets one task write at a time. It is no mutex, since a test's time
// stands still while somebody waits for one.
type lineWriter struct {
	turn chan struct{}
	out  io.Writer
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	return w.out.Write(text)
}

// living writes as long as its machine lives.
type living struct {
	ctx context.Context //nolint:containedctx // a test's way to cut a wire
	out io.Writer
}

func (l living) Write(text []byte) (int, error) {
	if l.ctx.Err() != nil {
		return 0, io.ErrClosedPipe
	}
	return l.out.Write(text)
}

func (m machine) supervise(ctx context.Context, id int, nonce string, in *io.PipeReader, out io.Writer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer in.Close()
	out = living{ctx, out}
	if m.dies == protocol.PhaseLaunch {
		return
	}
	node := supervisor.Node{Name: m.name, ID: id, Step: "7.0", Ranks: max(m.ranks, 1)}
	_ = supervisor.Run(ctx, node, in, out, nonce, func(_ context.Context, rank int, answers chan<- supervisor.Answer) (supervisor.Process, error) {
		return m.start(cancel, id, rank, answers), nil
	})
}

// fakeRank answers at once, or as its machine's fault says.
type fakeRank struct {
	machine machine
	gone    context.CancelFunc
	rank    int
	number  int // in the communicator, once it has joined
	runs    int
	answers chan<- supervisor.Answer
}

func (m machine) start(gone context.CancelFunc, id, rank int, answers chan<- supervisor.Answer) *fakeRank {
	r := &fakeRank{machine: m, gone: gone, rank: rank, answers: answers}
	if m.refuses != "" {
		r.fail(protocol.PhaseLoad, m.refuses)
		return r
	}
	hello := &protocol.Hello{Library: protocol.Library{Name: "fake", Path: "/fake.so", Version: m.version}}
	if id == 0 && rank == 0 {
		hello.UID = make([]byte, 128)
	}
	r.say(protocol.Message{Hello: hello})
	return r
}

func (r *fakeRank) say(message protocol.Message) {
	r.answers <- supervisor.Answer{Rank: r.rank, Message: message}
}

func (r *fakeRank) fail(phase protocol.Phase, why string) {
	r.say(protocol.Message{Failed: &protocol.Failed{Phase: phase, Error: why}})
}

func (r *fakeRank) Send(command protocol.Message) error {
	phase := protocol.PhaseRun
	var answer protocol.Message
	switch {
	case command.Halt != nil && r.machine.stuck == "":
		r.say(protocol.Message{Failed: &protocol.Failed{Kind: protocol.KindWaiting, Error: "it waited"}})
		return nil
	case command.Init != nil:
		r.number = command.Init.First[0]
		phase, answer = protocol.PhaseInit, protocol.Message{Ready: &protocol.Ready{}}
	case command.Run != nil:
		answer = protocol.Message{Result: r.result(command.Run)}
	default:
		return nil
	}
	time.Sleep(r.machine.late)
	if r.machine.fades == phase {
		time.AfterFunc(time.Second, r.gone)
	}
	switch {
	case r.machine.dies == phase:
		r.gone()
	case r.machine.breaks == phase:
		r.fail(phase, "the cable is out")
	case r.machine.ends == phase:
		r.say(protocol.Message{Failed: &protocol.Failed{Kind: protocol.KindDead, Error: "the process ended"}})
	case r.machine.waits == phase || r.machine.stuck == phase:
	default:
		r.say(answer)
	}
	return nil
}

func (r *fakeRank) result(run *protocol.Run) *protocol.Result {
	took := r.machine.took * time.Duration(max(run.Bytes, 1<<20)) / (1 << 20)
	result := &protocol.Result{Median: took}
	if slices.Contains(r.machine.wrongs, r.rank) {
		result.Wrong = r.machine.wrong
		result.WrongRanks = []protocol.WrongRank{{Rank: r.number, Elements: r.machine.wrong}}
	}
	if r.runs++; r.runs <= r.machine.paused {
		result.Median, result.Paused = time.Hour, time.Minute
	}
	return result
}

func (*fakeRank) Kill() {}

func (*fakeRank) State() string { return "its process is stopped" }
