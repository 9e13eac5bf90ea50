package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"slurm-preflight/internal/report"
	"slurm-preflight/internal/rundir"
)

// attempt is one gate of one attempt of a job, among other gates of the same job.
type attempt struct {
	out io.Writer
	// once spares a measurement that the same attempt of the job has passed already.
	once bool
	// asked says that the user wants the gate, and not the site alone.
	asked bool
	// retells prints the verdict of the attempt before this one.
	retells bool
	// limit bounds the wait for other gates of the attempt.
	limit time.Duration

	notes   []string
	release func()
}

// enter waits until no other gate of the attempt measures, since two at a time
// would measure each other, and finds the report of one that this attempt has passed.
func (a *attempt) enter(ctx context.Context, now report.Gate) (report.Gate, bool) {
	if a.retells {
		a.retell(now)
	}
	dir, err := directory(now)
	if err != nil {
		return report.Gate{}, false // told when the report is to be written
	}
	bounded, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	a.release, err = dir.Turn(bounded, func() {
		fmt.Fprintln(a.out, "preflight: another gate of this job is measuring; this one waits for it.")
	})
	if err != nil && ctx.Err() == nil {
		a.notes = append(a.notes, "another gate of this job may have been measuring at the same time: "+err.Error())
	}
	if !a.once {
		return report.Gate{}, false
	}
	return recorded(dir, now, a.asked)
}

// leave lets the next gate in.
func (a *attempt) leave() {
	if a.release != nil {
		a.release()
	}
}

// recorded finds the report of a gate that this attempt of the job has passed.
// A user may ask for a second look at nodes that failed; the site asks once.
func recorded(dir rundir.Dir, now report.Gate, asked bool) (report.Gate, bool) {
	text, err := dir.Read(reportName)
	if err != nil {
		return report.Gate{}, false
	}
	var old report.Gate
	if json.Unmarshal(text, &old) != nil {
		return report.Gate{}, false
	}
	return old, old.Answers(now) || !asked && old.LetThrough(now)
}

// retell prints the verdict of the last attempt that left one: Slurm has
// truncated the output in which it stood when it requeued the job.
func (a *attempt) retell(now report.Gate) {
	for n := now.Attempt - 1; n >= 0; n-- {
		text, err := rundir.Find(os.Getenv("HOME"), temporary, now.Job, n, reportName)
		if err != nil {
			continue
		}
		var old report.Gate
		if json.Unmarshal(text, &old) == nil && old.Job == now.Job && old.Attempt == n {
			fmt.Fprintf(a.out, "preflight: attempt %d: %s\n", n, old.Headline())
			return
		}
	}
}

const reportName = "gate.json"

// temporary is where users without a home keep reports. Not TMPDIR: it is often
// another directory for each job or step, or one that does not exist.
const temporary = "/tmp"

func directory(g report.Gate) (rundir.Dir, error) {
	return rundir.Open(os.Getenv("HOME"), temporary, g.Job, g.Attempt)
}
