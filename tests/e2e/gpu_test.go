package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/slurm"
)

// probe opens every GPU of the node: one that is the step's has no driver in the
// lab, one that is not its is refused by the cgroup.
const probe = `for gpu in 0 1 2; do LANG=C dd if=/dev/nvidia$gpu count=0 2>&1 | sed "s/.*nvidia\([0-9]\)': /$SLURMD_NODENAME \1 /"; done`

func TestStepOpensOnlyItsGPUs(t *testing.T) {
	l := startLab(t, "--nodes", "2", "--cgroup", "--gpus", "3")
	r := l.run("salloc", "-N2", "--gres=gpu:2", "--no-shell")
	require.Zero(t, r.code, r.err)
	id := strings.TrimSpace(l.run("squeue", "--noheader", "--format=%i").out)
	const opens, refused = "No such device or address", "Operation not permitted"
	for gpus, want := range map[int][3]string{
		0: {refused, refused, refused}, // the host backend's
		2: {opens, opens, refused},
	} {
		step := slurm.Step{Job: slurm.Job{ID: id, Nodes: []string{"n1", "n2"}}, GPUs: gpus, Command: []string{"/bin/sh", "-c", probe}}
		r := l.run(append([]string{"env", "-i", "PATH=/usr/bin:/bin", "SLURM_JOB_ID=" + id, "srun"}, step.Arguments()...)...)
		require.Zero(t, r.code, r.err)
		var lines []string
		for _, node := range step.Job.Nodes {
			for gpu, answer := range want {
				lines = append(lines, node+" "+string(rune('0'+gpu))+" "+answer)
			}
		}
		require.ElementsMatch(t, lines, strings.Split(strings.TrimSpace(r.out), "\n"))
	}
}
