// Program lab runs a real Slurm cluster on one machine, for tests and for
// newcomers: a controller and nodes, each with its own network address, links
// that can be made slow, and device files for GPUs.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"slurm-preflight/tests/lab/boot"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/command"
	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/session"
)

// The lab's own processes move between namespaces, which belong to threads:
// they do so on the main thread, by which the kernel names a process.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // later the main goroutine may be on another thread

func main() {
	if self, ok := process.Parse(os.Args); ok {
		os.Exit(play(self))
	}
	os.Exit(command.Execute())
}

// play is the part of one of the lab's own processes.
func play(self process.Process) int {
	code, err := 1, errors.New("unknown role")
	switch {
	case self.Role == process.Init && len(self.Args) == 1:
		err = spec(self.Args[0], boot.Login)
	case self.Role == process.Node && len(self.Args) == 2:
		err = spec(self.Args[1], func(s cluster.Spec) error { return boot.Node(s, self.Args[0]) })
	case self.Role == process.Run && len(self.Args) == 1:
		code, err = session.Supervise(self.Args[0])
	case self.Role == process.Enter && len(self.Args) == 1:
		code, err = session.Enter(self.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return max(code, 1)
	}
	return code
}

func spec(text string, do func(cluster.Spec) error) error {
	s, err := cluster.ParseSpec(text)
	if err != nil {
		return err
	}
	return do(s)
}
