// Package session runs a command on a host of a lab as if it had been started
// there: with the caller's terminal, signals and exit code.
//
// Two processes stand between: one, outside, waits and passes signals on; the
// other enters the host, becomes the user and then the command.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"slurm-preflight/tests/lab/namespace"
	"slurm-preflight/tests/lab/process"
)

// Session is a command and where, as whom and in which directory it runs.
type Session struct {
	Lab string `json:"lab"`
	// Host is the first process of the host.
	Host int    `json:"host"`
	User string `json:"user"`
	// Dir is the working directory; Must says that the command shall not run
	// elsewhere when the user cannot enter it.
	Dir  string   `json:"dir"`
	Must bool     `json:"must"`
	Argv []string `json:"argv"`
}

func (s Session) text() string {
	text, err := json.Marshal(s)
	if err != nil { // a Session holds nothing that JSON cannot say
		panic(err)
	}
	return string(text)
}

func parse(text string) (Session, error) {
	var s Session
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("reading a session: %w", err)
	}
	if len(s.Argv) == 0 {
		return s, errors.New("reading a session: it has no command")
	}
	return s, nil
}

// Command is a process that becomes the command. Started with Start, it ends
// with the lab.
func (s Session) Command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = process.Argv(s.Lab, process.Enter, s.text())
	return cmd
}

// Start starts the command's process in the host's PID namespace.
func (s Session) Start(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := namespace.ChildrenOf(s.Host); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the session: %w", err)
	}
	return namespace.ChildrenOf(os.Getpid())
}
