package nccl_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"slurm-preflight/cgo/hostccl"
	"slurm-preflight/cgo/nccl"
)

// A rank is this test binary again, driven by lines on its standard input.
// It answers each with one line: "ok …" or "err …".
const rankLimit = 30 * time.Second

type rank struct {
	library *nccl.Library
	device  *hostccl.Device
	comms   map[string]*member
}

// member is one communicator of this process.
type member struct {
	comm *nccl.Comm
	size int
	rank int
	// stop ends the goroutine that keeps the communicator busy; it answers on done.
	stop chan struct{}
	done chan busyReport
}

type busyReport struct {
	err         error
	slowestPoll time.Duration
}

// rankMain serves commands until standard input ends.
func rankMain(libraryPath string, in io.Reader, out io.Writer) error {
	library, err := nccl.Open(libraryPath)
	if err != nil {
		return err
	}
	device, err := hostccl.Open(cmp.Or(os.Getenv("NCCL_TEST_TARGET"), libraryPath))
	if err != nil {
		return err
	}
	r := &rank{library: library, device: device, comms: map[string]*member{}}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		words := strings.Fields(lines.Text())
		answer, err := r.command(words[0], words[1:])
		if err != nil {
			answer = "err " + err.Error()
		} else {
			answer = "ok " + answer
		}
		if _, err := fmt.Fprintln(out, strings.ReplaceAll(answer, "\n", " | ")); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) command(name string, args []string) (string, error) {
	switch name {
	case "id":
		id, err := r.library.UniqueID()
		return hex.EncodeToString(id[:]), err
	case "exit":
		os.Exit(0)
	case "init":
		return "", r.init(args[0], args[1], atoi(args[2]), atoi(args[3]))
	}
	m, found := r.comms[args[0]]
	if !found {
		return "", fmt.Errorf("no communicator %s", args[0])
	}
	switch name {
	case "wait":
		return "", m.await(func(err error) bool { return !errors.Is(err, nccl.ErrInProgress) })
	case "fail":
		return "", m.await(func(err error) bool { return err != nil && !errors.Is(err, nccl.ErrInProgress) })
	case "status":
		return "", m.comm.AsyncError()
	case "run":
		return "", r.check(m, operations[args[1]], atoi(args[2]))
	case "busy":
		m.stop, m.done = make(chan struct{}), make(chan busyReport, 1)
		go func() { m.done <- r.keepBusy(m, operations[args[1]], atoi(args[2])) }()
		return "", nil
	case "abort":
		return m.abort()
	case "untouched":
		return "", r.untouched(m, atoi(args[1]))
	case "destroy":
		return "", m.comm.Destroy()
	case "leave":
		if err := m.comm.Destroy(); err != nil {
			return "", err
		}
		os.Exit(0)
	}
	return "", fmt.Errorf("unknown command %s", name)
}

func (r *rank) init(name, hexID string, size, index int) error {
	var id [128]byte
	if _, err := hex.Decode(id[:], []byte(hexID)); err != nil {
		return err
	}
	comm, err := r.library.Init(id, size, index)
	if err == nil {
		r.comms[name] = &member{comm: comm, size: size, rank: index}
	}
	return err
}

// await polls until the state is as wanted, and returns it.
func (m *member) await(wanted func(error) bool) error {
	for deadline := time.Now().Add(rankLimit); ; time.Sleep(time.Millisecond) {
		err := m.comm.AsyncError()
		if wanted(err) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the communicator did not change in %v", rankLimit)
		}
	}
}

// finish polls stream and communicator alternately, as NCCL's protocol wants.
func (r *rank) finish(m *member, stream uintptr) error {
	for deadline := time.Now().Add(rankLimit); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		if err := m.comm.AsyncError(); err != nil {
			return err
		}
		if done, err := r.device.StreamDone(stream); done || err != nil {
			return err
		}
	}
	return errors.New("the stream did not finish")
}

// keepBusy queues operations, three at a time, until the communicator fails
// or is closed. It frees nothing: the library may still use the buffers.
func (r *rank) keepBusy(m *member, op operation, count int) (report busyReport) {
	send, errSend := r.device.Alloc(4 * op.sends(m, count))
	recv, errRecv := r.device.Alloc(4 * op.receives(m, count))
	stream, errStream := r.device.NewStream()
	if err := errors.Join(errSend, errRecv, errStream); err != nil {
		return busyReport{err: err}
	}
	var err error
	for {
		for range 3 {
			if err := op.queue(m, send, recv, count, stream); err != nil {
				report.err = err
				return report
			}
		}
		for done := false; !done && err == nil; time.Sleep(50 * time.Microsecond) {
			start := time.Now()
			err = m.comm.AsyncError()
			report.slowestPoll = max(report.slowestPoll, time.Since(start))
			if err == nil {
				done, err = r.device.StreamDone(stream)
			}
			select {
			case <-m.stop:
				return report
			default:
			}
		}
		if err != nil {
			report.err = err
			return report
		}
	}
}

// untouched queues two operations, aborts while the first runs, and looks
// whether the second still begins: it must not write to its buffer any more.
func (r *rank) untouched(m *member, count int) error {
	send, errSend := r.device.Alloc(4 * count)
	first, errFirst := r.device.Alloc(4 * count)
	recv, errRecv := r.device.Alloc(4 * count)
	stream, errStream := r.device.NewStream()
	data := make([]byte, 4*count)
	err := errors.Join(errSend, errFirst, errRecv, errStream,
		r.device.Upload(recv, data),
		r.device.Upload(send, bytes.Repeat([]byte{1}, len(data))),
		m.comm.AllReduce(send, first, count, stream),
		m.comm.AllReduce(send, recv, count, stream),
		m.comm.Abort())
	for done := false; err == nil && !done; time.Sleep(time.Millisecond) {
		done, err = r.device.StreamDone(stream)
	}
	if err != nil {
		return err
	}
	if err := r.device.Download(data, recv); err != nil {
		return err
	}
	if bytes.ContainsFunc(data, func(r rune) bool { return r != 0 }) {
		return errors.New("a buffer was written to after Abort")
	}
	return nil
}

// abort answers how long the call took, and the slowest poll while the communicator was busy.
func (m *member) abort() (string, error) {
	start := time.Now()
	err := m.comm.Abort()
	took := time.Since(start)
	var report busyReport
	if m.done != nil {
		close(m.stop)
		report = <-m.done
	}
	return fmt.Sprintf("%d %d", took.Microseconds(), report.slowestPoll.Microseconds()), err
}

func atoi(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return number
}
