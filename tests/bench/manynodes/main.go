// Command manynodes plays a Slurm of 1,024 nodes for the conductor's benchmark.
// Called scontrol or srun it answers as those do, with supervisors that measure
// in no time, so that all the time that passes is the conductor's own. Called by
// its own name it runs a command and prints the microseconds it took and its
// peak memory in kB.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"slurm-preflight/collectives/protocol"
)

const (
	nodes        = 1024
	ranksPerNode = 8
)

func main() {
	play := map[string]func(args []string) error{"scontrol": scontrol, "srun": srun}[filepath.Base(os.Args[0])]
	if play == nil {
		play = measure
	}
	if err := play(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manynodes:", err)
		os.Exit(1)
	}
}

// measure runs a command, which may print nothing but to standard error.
func measure(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err != nil || !ok {
		return fmt.Errorf("%v: %w", command, err)
	}
	_, err = fmt.Println(took.Microseconds(), usage.Maxrss)
	return err
}

func name(node int) string { return fmt.Sprintf("n%d", node+1) }

// scontrol shows the job, or the names of its nodes.
func scontrol(args []string) error {
	out := bufio.NewWriter(os.Stdout)
	if strings.Contains(strings.Join(args, " "), "hostnames") {
		for node := range nodes {
			fmt.Fprintln(out, name(node))
		}
		return out.Flush()
	}
	fmt.Fprintf(out, "JobId=1 JobName=bench\n   JobState=RUNNING\n   StartTime=2026-01-01T00:00:00\n   NodeList=n[1-%d]\n", nodes)
	return out.Flush()
}

// srun plays all supervisors. Their frames leave one by one in turns, which is
// the most mixed that they can arrive.
func srun(args []string) error {
	nonce := ""
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--nonce="); ok {
			nonce = value
		}
	}
	out := bufio.NewWriter(os.Stdout)
	var writers []*protocol.Writer
	for node := range nodes {
		writers = append(writers, protocol.NewWriter(out, nonce, name(node)))
	}
	if err := answer(out, writers, hello); err != nil {
		return err
	}
	in := protocol.NewReader(os.Stdin, nonce, slog.New(slog.DiscardHandler))
	for {
		_, command, err := in.Next()
		if err == io.EOF || command.Quit != nil { //nolint:errorlint // Next documents io.EOF itself
			return nil
		}
		if err != nil {
			return err
		}
		if err := answer(out, writers, func(int) protocol.Message { return reply(command) }); err != nil {
			return err
		}
	}
}

func answer(out *bufio.Writer, writers []*protocol.Writer, message func(node int) protocol.Message) error {
	for node, writer := range writers {
		if err := writer.Send(message(node)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func hello(node int) protocol.Message {
	hello := &protocol.Hello{
		NodeID: node, Step: "1.0", Ranks: ranksPerNode,
		Library: protocol.Library{Name: "libhostccl", Path: "/opt/slurm-preflight/lib/libhostccl.so", Version: "0.1, Gloo"},
	}
	if node == 0 {
		hello.UID = make([]byte, 128)
	}
	return protocol.Message{Hello: hello}
}

func reply(command protocol.Message) protocol.Message {
	if command.Init != nil {
		return protocol.Message{Number: command.Number, Ready: &protocol.Ready{}}
	}
	return protocol.Message{Number: command.Number, Result: &protocol.Result{Median: time.Millisecond}}
}
