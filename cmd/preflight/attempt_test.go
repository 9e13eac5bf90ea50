package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

func passed(attempt int) report.Gate {
	return report.Gate{
		Schema: report.Schema, Job: "12", Attempt: attempt, Verdict: report.Pass, Spec: "allreduce", Started: "now",
		Nodes: []string{"n1", "n2"}, Results: []report.Result{{Op: "allreduce", BusbwGBps: 0.024, Correct: true}},
	}
}

func keep(t *testing.T, gate report.Gate) {
	t.Helper()
	dir, err := directory(gate)
	require.NoError(t, err)
	require.NoError(t, dir.Write(reportName, gate.WriteJSON))
}

func TestLastVerdictIsRetold(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	failed := passed(0)
	failed.Verdict, failed.Reason = report.Fail, "n3 did not answer"
	keep(t, failed)
	for n, want := range map[int]string{
		0: "",
		1: "preflight: attempt 0: FAIL  allreduce 0.024 GB/s; n3 did not answer.\n",
		3: "preflight: attempt 0: FAIL  allreduce 0.024 GB/s; n3 did not answer.\n",
	} {
		var out bytes.Buffer
		(&attempt{out: &out}).retell(passed(n))
		require.Equal(t, want, out.String())
	}
	keep(t, passed(1))
	var out bytes.Buffer
	(&attempt{out: &out}).retell(passed(2))
	require.Equal(t, "preflight: attempt 1: PASS  allreduce 0.024 GB/s.\n", out.String())
}

func TestOnlyOneGateAtATime(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	var out bytes.Buffer
	first := attempt{out: &out, once: true, asked: true, limit: time.Minute}
	_, found := first.enter(t.Context(), passed(0))
	require.False(t, found)

	second := attempt{out: &out, once: true, asked: true, limit: time.Millisecond}
	_, found = second.enter(t.Context(), passed(0))
	require.False(t, found)
	require.Contains(t, out.String(), "another gate of this job is measuring")
	require.Len(t, second.notes, 1, "it does not wait for ever")

	keep(t, passed(0))
	first.leave()
	third := attempt{out: &out, once: true, asked: true, limit: time.Minute}
	_, found = third.enter(t.Context(), passed(0))
	require.True(t, found)
	third.leave()

	again := attempt{out: &out, limit: time.Minute}
	_, found = again.enter(t.Context(), passed(0))
	require.False(t, found, "by hand, as often as you like")
	again.leave()
}

func TestCancelledWaitIsNoNote(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	first := attempt{out: &bytes.Buffer{}, limit: time.Minute}
	first.enter(t.Context(), passed(0))
	defer first.leave()
	ctx, cancel := context.WithCancel(t.Context())
	second := attempt{out: cancelling(cancel), limit: time.Minute}
	second.enter(ctx, passed(0))
	require.Empty(t, second.notes)
}

// cancelling cancels when something is written.
type cancelling func()

func (c cancelling) Write(text []byte) (int, error) {
	c()
	return len(text), nil
}

func TestGravestComponentDecides(t *testing.T) {
	warned := report.Gate{Verdict: report.Fail}
	inOrder := []report.Gate{passed(0), warned, {Verdict: report.Error, Exit: 69}, {Verdict: report.Cancelled, Exit: 143}}
	for i := 1; i < len(inOrder); i++ {
		require.Greater(t, gravity(inOrder[i]), gravity(inOrder[i-1]))
	}
}

func TestReportFileOfEachComponent(t *testing.T) {
	for component, want := range map[string]string{"": "r.json", "52+0": "r.json", "52+1": "r.json.1"} {
		require.Equal(t, want, reportFile("r.json", component))
	}
	require.Empty(t, reportFile("", "52+1"))
}
