package collectives_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/report"
)

func TestJudge(t *testing.T) {
	good := report.Result{Ranks: 4, BusbwGBps: 1, FloorGBps: 1, Correct: true}
	with := func(change func(*report.Result)) report.Result {
		result := good
		change(&result)
		return result
	}
	slow := with(func(r *report.Result) { r.FloorGBps = 1.001 })
	unjudged := with(func(r *report.Result) { r.FloorGBps = 0 })
	wrong := with(func(r *report.Result) { r.FloorGBps, r.Correct = 0, false })
	alone := with(func(r *report.Result) { r.Ranks, r.BusbwGBps = 1, 0 })
	swept := with(func(r *report.Result) { r.FloorGBps, r.Swept = 0, true })
	tests := map[string]struct {
		results []report.Result
		want    report.Verdict
	}{
		"at the floor":             {[]report.Result{good}, report.Pass},
		"below the floor":          {[]report.Result{slow}, report.Fail},
		"no floor":                 {[]report.Result{unjudged}, report.Unjudged},
		"wrong without a floor":    {[]report.Result{wrong}, report.Fail},
		"one rank":                 {[]report.Result{alone}, report.Untestable},
		"one rank, wrong":          {[]report.Result{with(func(r *report.Result) { r.Ranks, r.Correct = 1, false })}, report.Fail},
		"one of two failed":        {[]report.Result{good, slow}, report.Fail},
		"one of two not judged":    {[]report.Result{good, unjudged}, report.Unjudged},
		"failed beside not judged": {[]report.Result{unjudged, slow}, report.Fail},
		"a sweep at the floor":     {[]report.Result{swept, swept, good}, report.Pass},
		"a sweep below the floor":  {[]report.Result{swept, slow}, report.Fail},
		"a sweep without a floor":  {[]report.Result{swept, unjudged}, report.Unjudged},
		"wrong in a sweep":         {[]report.Result{with(func(r *report.Result) { r.Swept, r.Correct = true, false }), good}, report.Fail},
		"nothing measured":         {nil, report.Untestable},
	}
	for name, test := range tests {
		require.Equal(t, test.want, collectives.Judge(test.results), name)
	}
}
