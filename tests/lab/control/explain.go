package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"slurm-preflight/tests/lab/boot"
	"slurm-preflight/tests/lab/cluster"
)

// tailLines is how much of a log an error shows.
const tailLines = 15

// explain adds the end of the log that most likely says why.
func (s *start) explain(cause error) error {
	host, program := s.guilty(cause.Error())
	path := s.lab.Path(boot.OutFile(host, program))
	tail := tail(path, tailLines)
	if tail == "" {
		return fmt.Errorf("lab %s did not come up: %w", s.lab.Spec.Name, cause)
	}
	return fmt.Errorf("lab %s did not come up: %w\n%s on %s said last:\n%s", s.lab.Spec.Name, cause, program, host, tail)
}

// guilty names the daemon that ended, or that of the first node that is not
// idle, or the controller.
func (s *start) guilty(cause string) (host, program string) {
	if words := strings.Fields(cause); len(words) > 3 && words[1] == "on" && words[3] == "ended:" {
		if _, err := os.Stat(s.lab.Path(boot.OutFile(words[2], words[0]))); err == nil {
			return words[2], words[0]
		}
	}
	for _, node := range s.lab.Spec.NodeNames() {
		if s.nodes[node] != "" && s.nodes[node] != "idle" {
			return node, "slurmd"
		}
	}
	return cluster.Login, "slurmctld"
}

// tail is the end of a file, indented, or nothing.
func tail(path string, n int) string {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	return "  " + strings.Join(lines, "\n  ")
}
