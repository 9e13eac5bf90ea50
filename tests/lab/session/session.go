// Package session runs a command on a host of a lab as if it had been started
// there: with the caller's terminal, signals and exit code.
//
// Two processes stand between: one, outside, waits and passes signals on; the
// other enters the host, becomes the user and then the command.
package session

import (
	"encoding/json"
	"errors"
	"fmt"

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

// EnterArgv is the command line of a process that becomes the command, for a
// caller that waits for it itself and needs neither terminal nor signals.
func (s Session) EnterArgv() []string { return process.Argv(s.Lab, process.Enter, s.text()) }
