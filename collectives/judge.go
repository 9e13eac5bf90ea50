package collectives

import "slurm-preflight/internal/report"

// Judge gives the verdict over a finished measurement: wrong results are never
// fit, a bandwidth below its floor is not, and without a floor nothing is said.
// The worst result decides; of a sweep, the largest size alone has a bandwidth to judge.
func Judge(results []report.Result) report.Verdict {
	verdict := report.Untestable
	for _, result := range results {
		verdict = worse(verdict, judgeOne(result))
	}
	return verdict
}

func judgeOne(result report.Result) report.Verdict {
	switch {
	case !result.Correct:
		return report.Fail
	case result.Ranks < 2, result.Swept:
		return report.Untestable
	case result.FloorGBps <= 0:
		return report.Unjudged
	case result.BusbwGBps < result.FloorGBps:
		return report.Fail
	default:
		return report.Pass
	}
}

// worse picks the verdict that the job's user must hear: a failure before all
// else, and "not judged" before a pass that was only half judged.
func worse(a, b report.Verdict) report.Verdict {
	for _, verdict := range []report.Verdict{report.Fail, report.Unjudged, report.Pass} {
		if a == verdict || b == verdict {
			return verdict
		}
	}
	return report.Untestable
}
