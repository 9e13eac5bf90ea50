package slurm

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// complaints are what srun says on its standard error, where it also tells
// which nodes it has lost.
type complaints struct {
	nodes []string // of the step, in its order: task i runs on the i-th

	mu       sync.Mutex
	line     strings.Builder // not yet ended
	text     strings.Builder // the beginning, which names the cause; consequences follow
	failed   map[string]string
	finished map[string]string
}

const (
	maxText = 2048
	maxLine = 1024
)

var (
	// srun: error: n[1,3-4]: tasks 0,2-3: Killed.
	taskEnd = regexp.MustCompile(`^srun: error: \S+: tasks? ([0-9,-]+): (.+)$`)
	// srun: error: Task launch for StepId=7.0 failed on node n3: Communication connection failure.
	launchFailure = regexp.MustCompile(`^srun: error: (Task launch for .* failed on node (\S+): .+)$`)
	// srun: error: Node failure on n3.
	nodeFailure = regexp.MustCompile(`^srun: error: (Node failure on (\S+))$`)
	// srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 2.
	brokenStream = regexp.MustCompile(`^srun: error: .*(io error with slurmstepd on node ([0-9]+))$`)
)

// Write takes in what srun prints, line by line.
func (c *complaints) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, letter := range string(text) {
		if letter != '\n' {
			if c.line.Len() < maxLine {
				c.line.WriteRune(letter)
			}
			continue
		}
		c.take(oneLine(c.line.String()))
		c.line.Reset()
	}
	return len(text), nil
}

func (c *complaints) take(line string) {
	if c.text.Len() < maxText {
		c.text.WriteString(line + "\n")
	}
	for _, pattern := range []*regexp.Regexp{launchFailure, nodeFailure} {
		if match := pattern.FindStringSubmatch(line); match != nil {
			c.note(&c.failed, match[2], "srun says: "+match[1])
		}
	}
	if match := brokenStream.FindStringSubmatch(line); match != nil {
		for _, node := range numbers(match[2], len(c.nodes)) {
			c.note(&c.failed, c.nodes[node], "srun says: "+match[1])
		}
	}
	if match := taskEnd.FindStringSubmatch(line); match != nil {
		for _, task := range numbers(match[1], len(c.nodes)) {
			c.note(&c.finished, c.nodes[task], "srun says: its task ended: "+match[2])
		}
	}
}

// note keeps the first word about a node of the step.
func (c *complaints) note(list *map[string]string, node, why string) {
	if *list == nil {
		*list = map[string]string{}
	}
	for _, known := range c.nodes {
		if _, noted := (*list)[node]; known == node && !noted {
			(*list)[node] = why
		}
	}
}

// lost are the nodes whose task is gone, and why. Where srun blames nodes, the
// ends of other tasks are consequences: it ends the whole step for them.
func (c *complaints) lost() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) > 0 {
		return maps.Clone(c.failed)
	}
	return maps.Clone(c.finished)
}

// String is srun's errors in one line, or all it said where it called nothing an error.
func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all, faults []string
	for line := range strings.Lines(strings.ToValidUTF8(c.text.String(), "?")) {
		line = strings.TrimSpace(line)
		all = append(all, line)
		if strings.Contains(line, "error:") {
			faults = append(faults, line)
		}
	}
	if len(faults) > 0 {
		return strings.Join(faults, "; ")
	}
	return strings.Join(all, "; ")
}

// numbers expands "0,2-3" as far as it stays below limit.
func numbers(list string, limit int) []int {
	var all []int
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(high); err != nil {
				continue
			}
		}
		for n := first; n <= last && n < limit; n++ {
			all = append(all, n)
		}
	}
	return all
}
