package matrix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
	"slurm-preflight/tests/fault"
)

func TestFaults(t *testing.T) {
	for _, f := range fault.Faults() {
		for _, moment := range fault.Moments() {
			if !fault.Possible(f, moment) {
				continue
			}
			t.Run(f.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				t.Logf("| %s | %s | %s |", f.Name, moment.Name, fault.Drive(t, f, moment))
			})
		}
	}
}

func TestPauses(t *testing.T) {
	for _, start := range []fault.Start{fault.Batch, fault.Login} {
		for _, pause := range fault.Pauses() {
			for moment, messages := range map[string]float64{"warm-up": 0.75, "run": 3.25} {
				t.Run(string(start)+"/"+pause.Name+"/"+moment, func(t *testing.T) {
					t.Parallel()
					gate := fault.Interrupt(t, start, pause, messages)
					require.Equal(t, report.Pass, gate.Verdict, gate.Reason)
					require.Empty(t, gate.Suspects)
					t.Logf("| %s | %s | %s | %v |", start, pause.Name, moment, gate.Notes)
				})
			}
		}
	}
}
