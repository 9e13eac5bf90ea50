package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/fault"
)

// The node with the conductor dies: nobody is left to end the gate but Slurm.
func TestDeathOfTheBatchNode(t *testing.T) {
	for flag, state := range map[string]string{"--no-requeue": "NODE_FAIL", "--requeue": "COMPLETED"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			l := fault.Up(t, append(fault.Slow(), "--conf", "SlurmdTimeout=10")...)
			job := l.Submit(fault.Spec(), flag)
			l.Measures()
			l.Do("kill", "n1")
			l.Eventually(time.Minute, func() bool { return job.Show("JobState") != "RUNNING" }, "Slurm does not notice")
			l.Eventually(time.Minute, func() bool { return len(l.Left(fault.Hosts()...)) == 0 }, "the gate is still on the other nodes")
			require.NotContains(t, job.Output(), fault.UserCode)
			l.Do("start", "n1")
			// A requeued job waits for two minutes, as Slurm does after a node failed, unless it is told.
			l.Eventually(3*time.Minute, func() bool {
				l.Root("scontrol", "update", "jobid="+job.ID, "starttime=now")
				return job.Show("JobState") == state
			}, "the job is not %s", state)
			l.Idle(time.Minute)
			require.Equal(t, state == "COMPLETED", job.Show("Restarts") == "1")
		})
	}
}
