package matrix

import (
	"testing"

	"slurm-preflight/tests/fault"
)

func TestMatrix(t *testing.T) {
	for _, f := range fault.Faults() {
		for _, moment := range fault.Moments() {
			if !fault.Possible(f, moment) {
				continue
			}
			t.Run(f.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				outcome := fault.Drive(t, f, moment)
				t.Logf("%s | %s | %s", f.Name, moment.Name, outcome)
			})
		}
	}
}
