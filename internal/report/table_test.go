package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

func four(busbw, floor float64) report.Result {
	return report.Result{
		Op: "allreduce", Scope: report.ScopeJob, Nodes: []string{"n1", "n2", "n3", "n4"}, Ranks: 4,
		Bytes: 16 << 20, Iters: 20, Seconds: 0.2, AlgbwGBps: busbw / 1.5, BusbwGBps: busbw, FloorGBps: floor,
		FloorSource: "plugstack.conf arguments", Correct: true,
		NodeBusbwGBps: []float64{busbw, busbw, busbw * 1.01, busbw},
	}
}

func many() report.Result {
	result := report.Result{Op: "allreduce", Ranks: 8 * 1024, Bytes: 1 << 30, Iters: 20, BusbwGBps: 361.4, FloorGBps: 370, Correct: true}
	for i := range 1024 {
		result.Nodes = append(result.Nodes, "node"+strings.Repeat("x", i%3))
		result.NodeBusbwGBps = append(result.NodeBusbwGBps, 362+float64((i*37)%100)/10)
	}
	return result
}

// swept is a sweep of four sizes with a floor for the largest.
func swept() []report.Result {
	var all []report.Result
	for i := range 4 {
		result := four(0.05+0.02*float64(i), 0)
		result.Bytes, result.Iters, result.Swept = 256<<10<<(2*i), 20, true
		all = append(all, result)
	}
	last := &all[3]
	last.Iters, last.FloorGBps, last.Swept = 7, 0.08, false
	return all
}

// of is results of another collective.
func of(op string, results ...report.Result) []report.Result {
	for i := range results {
		results[i].Op = op
	}
	return results
}

func gates() map[string]report.Gate {
	host := report.Library{Name: "libhostccl", Path: "/opt/lib/libhostccl.so", Version: "0.1, Gloo"}
	gate := func(verdict report.Verdict, results ...report.Result) report.Gate {
		return report.Gate{Job: "12", Verdict: verdict, Backend: "host", Library: host, Results: results}
	}
	wrong := four(0.117, 0)
	wrong.Correct = false
	wrong.Ranks = 32
	wrongGate := gate(report.Fail, wrong)
	wrongGate.Suspects = []report.Suspect{{Node: "n1", Device: "rank 5", Phase: "run", Why: "it received 1 element of allreduce wrong"}}
	crowd := gate(report.Fail, many())
	for i := range 40 {
		crowd.Suspects = append(crowd.Suspects, report.Suspect{
			Node: "node", Device: fmt.Sprintf("rank %d", i), Phase: "run", Why: "it received 3 elements of allreduce wrong",
		})
	}
	sweep := swept()
	broken := gate(report.Error, sweep[:2]...)
	broken.Reason = "the gate could not measure: the time was over before allreduce of 16M"
	spoilt := swept()
	spoilt[1].Correct = false
	silent := gate(report.Fail)
	silent.Reason = "n3 did not answer"
	silent.Suspects = []report.Suspect{{Node: "n3", Phase: "init", Why: "said nothing for 30 s"}}
	alone := gate(report.Untestable, report.Result{
		Op: "allreduce", Nodes: []string{"n1"}, Ranks: 1, Bytes: 1 << 20, Iters: 2, FloorGBps: 0.08, Correct: true, NodeBusbwGBps: []float64{0},
	})
	alone.Reason = "one rank alone moves nothing over a network"
	missing := gate(report.Error)
	missing.Library = report.Library{}
	missing.Reason = "n1: libhostccl.so was not found"
	missing.Notes = []string{"the site's gate.iters=x was ignored", "one line\nand another"}
	return map[string]report.Gate{
		"pass":                     gate(report.Pass, four(0.117, 0.080)),
		"fail":                     gate(report.Fail, four(0.024, 0.080)),
		"unjudged":                 gate(report.Unjudged, four(0.117, 0)),
		"wrong":                    wrongGate,
		"many nodes":               crowd,
		"sweep":                    gate(report.Pass, sweep...),
		"sweep that broke off":     broken,
		"sweep with wrong results": gate(report.Fail, spoilt...),
		"several":                  gate(report.Fail, slices.Concat(of("allreduce", four(0.117, 0.080)), of("allgather", four(0.024, 0.080)), of("broadcast", four(0.121, 0)))...),
		"several in a sweep":       gate(report.Pass, append(swept(), of("alltoall", swept()...)...)...),
		"silent":                   silent,
		"error":                    missing,
		"untestable":               alone,
	}
}

func TestTable(t *testing.T) {
	for name, gate := range gates() {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, gate.WriteTable(&out, "Job 12 goes on."))
			golden(t, strings.ReplaceAll(name, " ", "-")+".txt", out.Bytes())
		})
	}
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"fail", "error", "sweep with wrong results"} {
		gate := gates()[name]
		var out bytes.Buffer
		require.NoError(t, gate.WriteJSON(&out))
		golden(t, strings.ReplaceAll(name, " ", "-")+".json", out.Bytes())
	}
}

// golden compares with testdata, or rewrites it with TESTS_UPDATE_GOLDEN=1.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("TESTS_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestAnswers(t *testing.T) {
	passed := report.Gate{
		Schema: report.Schema, Job: "12", Attempt: 1, Verdict: report.Pass, Spec: "allreduce", Started: "now", Nodes: []string{"n1", "n2"},
	}
	require.True(t, passed.Answers(passed))
	for name, change := range map[string]func(old, now *report.Gate){
		"it failed":          func(old, _ *report.Gate) { old.Verdict = report.Fail },
		"could not measure":  func(old, _ *report.Gate) { old.Verdict = report.Error },
		"another format":     func(old, _ *report.Gate) { old.Schema = "preflight.gate/2" },
		"another job":        func(_, now *report.Gate) { now.Job = "13" },
		"another attempt":    func(_, now *report.Gate) { now.Attempt = 2 },
		"another question":   func(_, now *report.Gate) { now.Spec = "allreduce,min=400" },
		"another cluster":    func(_, now *report.Gate) { now.Started = "later" },
		"other nodes":        func(_, now *report.Gate) { now.Nodes = []string{"n1", "n3"} },
		"no start was known": func(old, now *report.Gate) { old.Started, now.Started = "", "" },
	} {
		old, now := passed, passed
		change(&old, &now)
		require.False(t, old.Answers(now), name)
	}
}
