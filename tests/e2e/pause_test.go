package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
	"slurm-preflight/tests/fault"
)

// A gate that stands still for longer than all its deadlines goes on as if
// nothing had been, and judges nothing that was interrupted. tests/matrix has
// the other combinations.
func TestPausedGateBlamesNobody(t *testing.T) {
	suspended, stopped := fault.Pauses()[0], fault.Pauses()[1]
	for name, test := range map[string]struct {
		start    fault.Start
		pause    fault.Pause
		messages float64 // that a node has sent by then
		redone   string
	}{
		"a suspended batch job":             {fault.Batch, suspended, 3.25, "the run of allreduce was done again"},
		"suspended nodes of a running srun": {fault.Login, suspended, 0.75, "the warm-up of allreduce was done again"},
		"every process stopped":             {fault.Batch, stopped, 3.25, "the run of allreduce was done again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := fault.Interrupt(t, test.start, test.pause, test.messages)
			require.Equal(t, report.Pass, gate.Verdict, gate.Reason)
			require.Empty(t, gate.Suspects)
			require.Contains(t, gate.Notes[len(gate.Notes)-1], test.redone)
			require.Less(t, gate.Results[0].Seconds, 10.0, "the pause is not measured")
		})
	}
}
