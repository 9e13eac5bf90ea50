package slurm

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func complain(text string) *complaints {
	c := &complaints{nodes: []string{"n1", "n2", "n3", "n4"}}
	for _, piece := range strings.SplitAfter(text, "r") { // in pieces, as pipes do
		_, _ = io.WriteString(c, piece)
	}
	return c
}

func TestLostNodes(t *testing.T) {
	killed := "srun says: its task ended: Killed"
	tests := map[string]struct {
		text string
		lost map[string]string
	}{
		"nothing":           {"", nil},
		"small talk":        {"srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)\n", nil},
		"one task":          {"srun: error: n3: task 2: Killed\n", map[string]string{"n3": killed}},
		"some":              {"srun: error: n[1,3-4]: tasks 0,2-3: Killed\n", map[string]string{"n1": killed, "n3": killed, "n4": killed}},
		"half a line":       {"srun: error: n3: task 2: Kil", nil},
		"the first counts":  {"srun: error: n3: task 2: Killed\nsrun: error: n3: task 2: Terminated\n", map[string]string{"n3": killed}},
		"tasks we know not": {"srun: error: n9: tasks 9,3-999999999,-,1-,,-2: Killed\n", map[string]string{"n4": killed}},
		"a node's failure, and what srun did then": {
			"srun: error: Node failure on n3\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: error: n[1-2,4]: tasks 0-1,3: Killed\n",
			map[string]string{"n3": "srun says: Node failure on n3"},
		},
		"a launch that failed": {
			"srun: error: Task launch for StepId=1.0 failed on node n3: Communication connection failure\nsrun: error: Application launch failed: Communication connection failure\n",
			map[string]string{"n3": "srun says: Task launch for StepId=1.0 failed on node n3: Communication connection failure"},
		},
		"a stream that broke": {
			"srun: error: step_launch_notify_io_failure: aborting, io error with slurmstepd on node 2\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: error: n2: task 1: Killed\n",
			map[string]string{"n3": "srun says: io error with slurmstepd on node 2"},
		},
		"another's node": {"srun: error: Node failure on x9\n", nil},
		"a user's words": {"n3: srun: error: n3: task 2: Killed\n", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.lost, complain(test.text).lost())
		})
	}
}

func TestErrorsComeBeforeOtherWords(t *testing.T) {
	require.Equal(t, "srun: error: a; slurmstepd: error: b", complain("srun: hello\nsrun: error: a\nslurmstepd:  error: b\n").String())
	require.Equal(t, "srun: hello; srun: you", complain("srun: hello\nsrun: you\n").String())
	require.Empty(t, complain("").String())
}

func FuzzComplaints(f *testing.F) {
	f.Add("srun: error: n[1,3-4]: tasks 0,2-3: Killed\n")
	f.Add("srun: error: Node failure on n3\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := complain(text)
		for node := range c.lost() {
			require.Contains(t, c.nodes, node)
		}
		require.LessOrEqual(t, len(c.String()), maxText+8*maxLine)
	})
}
