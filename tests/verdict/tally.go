package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// modulePrefix is cut from package names: everything here is ours.
const modulePrefix = "slurm-preflight/"

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// run is a package whose tests run: what is still open, and what it said.
type run struct {
	tests  int
	failed int
	said   strings.Builder             // outside any test
	open   map[string]*strings.Builder // by test
}

type tally struct {
	out                     io.Writer
	skips                   skipList
	runs                    map[string]*run
	passed, failed, skipped int
	forbidden               []string // skips that the list does not name
}

func newTally(out io.Writer, skips skipList) *tally {
	return &tally{out: out, skips: skips, runs: map[string]*run{}}
}

// read takes in the whole stream. What is no event is passed on as it is.
func (t *tally) read(stream io.Reader) error {
	reader := bufio.NewReader(stream)
	for {
		line, err := reader.ReadString('\n')
		if line != "" {
			t.line(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the test stream: %w", err)
		}
	}
}

func (t *tally) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(t.out, line)
		return
	}
	if e.Action == "build-output" {
		fmt.Fprint(t.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	e.Package = strings.TrimPrefix(e.Package, modulePrefix)
	r := t.runs[e.Package]
	if r == nil {
		r = &run{open: map[string]*strings.Builder{}}
		t.runs[e.Package] = r
	}
	if e.Test == "" {
		t.packageEvent(r, e)
		return
	}
	t.testEvent(r, e)
}

func (t *tally) testEvent(r *run, e event) {
	said := r.open[e.Test]
	if said == nil {
		said = &strings.Builder{}
		r.open[e.Test] = said
	}
	switch e.Action {
	case "output":
		said.WriteString(e.Output)
		return
	case "pass":
		t.passed++
	case "fail":
		t.fail(r, e, said)
	case "skip":
		t.skip(e, said)
	default:
		return
	}
	r.tests++
	delete(r.open, e.Test)
}

func (t *tally) fail(r *run, e event, said *strings.Builder) {
	t.failed++
	r.failed++
	fmt.Fprintf(t.out, "FAIL %s %s\n%s", e.Package, e.Test, said)
}

func (t *tally) skip(e event, said *strings.Builder) {
	t.skipped++
	if reason, ok := t.skips.reason(e.Package, e.Test); ok {
		fmt.Fprintf(t.out, "skip %s %s: %s\n", e.Package, e.Test, reason)
		return
	}
	t.forbidden = append(t.forbidden, e.Package+" "+e.Test)
	fmt.Fprintf(t.out, "SKIP %s %s\n%s", e.Package, e.Test, said)
}

func (t *tally) packageEvent(r *run, e event) {
	switch e.Action {
	case "output":
		r.said.WriteString(e.Output)
		return
	case "pass":
		if r.tests > 0 {
			fmt.Fprintf(t.out, "ok   %s  %d tests, %.1f s\n", e.Package, r.tests, e.Elapsed)
		}
	case "fail":
		t.failPackage(r, e.Package)
	case "skip": // no test files
	default:
		return
	}
	delete(t.runs, e.Package)
}

// failPackage blames the tests that never ended (a panic, a time-out), or the
// package itself where no test failed (it did not build, or its TestMain failed).
func (t *tally) failPackage(r *run, name string) {
	for _, test := range slices.Sorted(maps.Keys(r.open)) {
		t.fail(r, event{Package: name, Test: test}, r.open[test])
	}
	if r.failed == 0 {
		t.failed++
		fmt.Fprintf(t.out, "FAIL %s\n", name)
	}
	fmt.Fprint(t.out, r.said.String())
}

// close settles what the stream left open, prints the last lines and says
// whether all is well.
func (t *tally) close() bool {
	for _, name := range slices.Sorted(maps.Keys(t.runs)) {
		r := t.runs[name]
		r.said.WriteString("the stream ended before this package did\n")
		t.failPackage(r, name)
	}
	slices.Sort(t.forbidden)
	for _, test := range t.forbidden {
		fmt.Fprintf(t.out, "%s skipped itself: mend it, or name it and the reason in the skip list\n", test)
	}
	if t.passed+t.failed+t.skipped == 0 {
		fmt.Fprintln(t.out, "no test ran")
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	return t.passed > 0 && t.failed == 0 && len(t.forbidden) == 0
}
