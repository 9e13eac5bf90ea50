package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const heterogeneous = `JobId=52 HetJobId=52 HetJobOffset=0 JobName=wrap
   HetJobIdSet=52-54
   NodeList=n[1-2]

JobId=54 HetJobId=52 HetJobOffset=2 JobName=wrap
   NodeList=n4

JobId=53 HetJobId=52 HetJobOffset=1 JobName=wrap
   NodeList=n3
`

func TestComponentsInTheirOrder(t *testing.T) {
	require.Equal(t, []string{"52", "53", "54"}, parseComponents(heterogeneous, "52"))
	require.Empty(t, parseComponents(heterogeneous, "7"))
}

func TestRecordOfAComponent(t *testing.T) {
	r, err := parseRecord(heterogeneous, "53")
	require.NoError(t, err)
	require.Equal(t, component{leader: "52", offset: 1}, r.het)
	require.Equal(t, "n3", r.nodeList)
}

// A job's name is the user's, and so is all that follows it.
func TestPlainJobIsNoComponent(t *testing.T) {
	for _, line := range []string{
		"JobId=53 JobName=HetJobId=52 HetJobOffset=1", "JobId=53 JobName=a HetJobId=52 HetJobOffset=1",
		"JobId=53 HetJobId=52 JobName=a", "JobId=53 HetJobId=52 HetJobOffset=x JobName=a", "JobId=53",
	} {
		require.Zero(t, componentOf(strings.Fields(line)), line)
	}
}

func TestStepOfAComponentGoesThroughTheLeader(t *testing.T) {
	plain := Step{Job: Job{ID: "7", Nodes: []string{"n1", "n2"}}, Command: []string{"/bin/true"}}.Arguments()
	require.Contains(t, plain, "--jobid=7")
	require.Contains(t, plain, "--nodes=2")
	require.NotContains(t, strings.Join(plain, " "), "--het-group")
	het := Step{Job: Job{ID: "53", HetLeader: "52", HetOffset: 1, Nodes: []string{"n3"}}, Command: []string{"/bin/true"}}.Arguments()
	require.Equal(t, []string{"--jobid=52", "--het-group=1", "/bin/true"}, het[len(het)-3:])
}
