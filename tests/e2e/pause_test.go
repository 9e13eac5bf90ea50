package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
	"slurm-preflight/tests/fault"
)

// A gate that stands still for longer than all its deadlines goes on as if
// nothing had been, and judges nothing that was interrupted.
func TestPausedGateBlamesNobody(t *testing.T) {
	for _, start := range []fault.Start{fault.Batch, fault.Login} {
		for _, pause := range fault.Pauses() {
			for moment, messages := range map[string]float64{"warm-up": 0.75, "run": 3.25} {
				t.Run(string(start)+"/"+pause.Name+"/"+moment, func(t *testing.T) {
					t.Parallel()
					gate := fault.Interrupt(t, start, pause, messages)
					require.Equal(t, report.Pass, gate.Verdict, gate.Reason)
					require.Empty(t, gate.Suspects)
					require.Contains(t, gate.Notes[len(gate.Notes)-1], "the "+moment+" of allreduce was done again")
					require.Less(t, gate.Results[0].Seconds, 10.0, "the pause is not measured")
					t.Log(gate.Notes, gate.Results[0].Seconds)
				})
			}
		}
	}
}
