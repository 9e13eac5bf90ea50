package slurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const shown = `JobId=12 JobName=train NodeList=evil
   UserId=user(20001) GroupId=user(20001) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0
   StartTime=2026-01-02T03:04:05 EndTime=2026-01-02T04:04:05 Deadline=N/A
   SuspendTime=2026-01-02T03:30:00 SecsPreSuspend=12 LastSchedEval=2026-01-02T03:04:05
   Partition=gpu AllocNode:Sid=login:0
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[1-4]
   JOB_GRES=gpu:10
     Nodes=n1 CPU_IDs=0-3 Mem=0 GRES=gpu:h100:8(IDX:0-7)
     Nodes=n[2-4] CPU_IDs=0-3 Mem=0 GRES=gpu:2(IDX:0-1)
     Nodes=n9 CPU_IDs=0 Mem=0 GRES=
   Command=/home/user/a NodeList=evil
`

func TestParseRecord(t *testing.T) {
	parsed, err := parseRecord(shown, "12")
	require.NoError(t, err)
	require.Equal(t, record{
		state:     "RUNNING",
		partition: "gpu",
		nodeList:  "n[1-4]",
		started:   "2026-01-02T03:04:05",
		suspended: "2026-01-02T03:30:00",
		restarts:  2,
		batch:     true,
		gpus:      []share{{"n1", 8}, {"n[2-4]", 2}},
	}, parsed)
}

func TestPendingJobHasNoNodes(t *testing.T) {
	for _, list := range []string{"(null)", "None", ""} {
		parsed, err := parseRecord(strings.Replace(shown, "n[1-4]", list, 1), "12")
		require.NoError(t, err)
		require.Empty(t, parsed.nodeList)
	}
}

// scontrol shows a whole array for the job that has the array's number.
func TestOnlyTheJobItself(t *testing.T) {
	other := strings.NewReplacer("JobId=12 ", "JobId=13 ArrayJobId=12 ", "n[1-4]", "n5", "gpu:2", "gpu:7").Replace(shown)
	for _, text := range []string{shown + "\n" + other, other + "\n" + shown} {
		parsed, err := parseRecord(text, "12")
		require.NoError(t, err)
		require.Equal(t, "n[1-4]", parsed.nodeList)
		require.Equal(t, []share{{"n1", 8}, {"n[2-4]", 2}}, parsed.gpus)
	}
}

// Names and comments are the user's, line breaks and all.
func TestForgedKeyIsRefused(t *testing.T) {
	for _, forged := range []string{"NodeList=evil", "   Partition=debug", "Requeue=1 BatchFlag=0", "JobId=12 JobName=x", "JobState=RUNNING", "StartTime=now"} {
		for _, text := range []string{
			strings.Replace(shown, "JobName=train", "JobName=train\n"+forged, 1),
			shown + "   Comment=a\n" + forged + "\n",
		} {
			_, err := parseRecord(text, "12")
			key, _, _ := strings.Cut(strings.TrimSpace(forged), "=")
			require.ErrorContains(t, err, "scontrol shows "+key+"= twice for job 12")
		}
	}
}

func TestCountGPUs(t *testing.T) {
	for gres, want := range map[string]int{
		"":                                  0,
		"gpu:2(IDX:0-1)":                    2,
		"gpu:h100:8(IDX:0-7)":               8,
		"gpu(CNT:4)":                        4,
		"gpu:a:1(IDX:0),gpu:b:2(IDX:1-2)":   3,
		"gpu:a100_3g.20gb:3(IDX:0-2)":       3,
		"nic:4(CNT:4),gpu:1(IDX:3),tmp:9":   1,
		"gpu:99999999999999999999(IDX:0-1)": 0,
		"mygpu:7":                           0,
	} {
		require.Equal(t, want, countGPUs(gres), gres)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(shown)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseRecord(text, "12")
		if err != nil {
			require.Zero(t, parsed)
		}
		for _, share := range parsed.gpus {
			require.Positive(t, share.gpus)
		}
	})
}
