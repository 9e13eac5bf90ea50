package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/fault"
)

// A choice of the cases of tests/matrix: each fault, and each moment.
func TestFaults(t *testing.T) {
	for name, moments := range map[string][]string{
		"node killed":        {"launch", "run"},
		"node frozen":        {"warm-up"},
		"link down":          {"before launch", "init"},
		"supervisor killed":  {"launch"},
		"supervisor stopped": {"init"},
		"rank killed":        {"init", "end"},
		"rank stopped":       {"run"},
		"srun killed":        {"warm-up"},
		"conductor killed":   {"run"},
	} {
		for _, moment := range moments {
			t.Run(name+"/"+moment, func(t *testing.T) {
				t.Parallel()
				t.Log(fault.Drive(t, faultNamed(t, name), momentNamed(t, moment)))
			})
		}
	}
}

func faultNamed(t *testing.T, name string) fault.Fault {
	t.Helper()
	all := fault.Faults()
	i := slices.IndexFunc(all, func(f fault.Fault) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

func momentNamed(t *testing.T, name string) fault.Moment {
	t.Helper()
	all := fault.Moments()
	i := slices.IndexFunc(all, func(m fault.Moment) bool { return m.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}
