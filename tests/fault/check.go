package fault

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

// later says that the gate had gone on to another phase before the fault struck.
func (o Outcome) later(moment Moment) bool {
	at := slices.IndexFunc(Moments(), func(m Moment) bool { return m.Name == moment.Name })
	for _, next := range Moments()[at+1:] {
		for _, phase := range next.phases {
			if !slices.Contains(moment.phases, phase) && slices.Equal(o.Suspects, []string{Victim + " " + phase}) {
				return true
			}
		}
	}
	return o.Verdict == report.Pass && moment.Name != atLast
}

// check holds an outcome against what is true: the victim is at fault, in the
// phase in which it was hit, unless something else broke.
func (o Outcome) check(t *testing.T, fault Fault, moment Moment) {
	t.Helper()
	require.Empty(t, o.Left, "left on hosts that nothing happened to")
	if moment.Name == atLast && o.Verdict == report.Pass {
		require.Equal(t, "0:0", o.Exit, "all results were there before the fault")
		require.Empty(t, o.Suspects)
		return
	}
	require.NotContains(t, o.Output, UserCode)
	switch fault.truth {
	case gateKilled:
		require.Equal(t, "137:0", o.Exit)
		require.Empty(t, o.Verdict)
		require.Contains(t, o.Output, "was killed by signal 9")
	case gateBroken:
		require.Equal(t, "69:0", o.Exit, o.Reason)
		require.Equal(t, report.Error, o.Verdict)
		require.Empty(t, o.Suspects, "no node is to blame")
		require.Contains(t, o.Reason, "signal: killed", "srun's end is explained")
	default:
		require.Equal(t, "75:0", o.Exit, o.Reason)
		require.Equal(t, report.Fail, o.Verdict)
		require.Len(t, o.Suspects, 1, o.Reason)
		var guilty []string
		for _, phase := range moment.phases {
			guilty = append(guilty, Victim+" "+phase)
		}
		require.Subset(t, guilty, o.Suspects)
	}
}
