package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxSuspects is how many suspects the table lists; the report has all.
const maxSuspects = 16

const wrongResults = "WRONG RESULTS"

// WriteTable prints the report as the user sees it in the job's output. Consequence
// ends the verdict's line: what happens to the job now.
func (g *Gate) WriteTable(w io.Writer, consequence string) error {
	var out strings.Builder
	for _, sweep := range g.sweeps() {
		result := sweep.judged()
		fmt.Fprintf(&out, "preflight: %s on %s, %s backend%s, %s, %s\n", result.Op, count(len(result.Nodes), "node"),
			g.Backend, g.Library.inBrackets(), size(result.Bytes), count(result.Iters, "iteration"))
		out.WriteString(result.rows())
		if len(sweep) > 1 {
			out.WriteString(sweep.sizes())
		}
	}
	for _, suspect := range g.Suspects[:min(len(g.Suspects), maxSuspects)] {
		fmt.Fprintf(&out, "preflight: suspect %s%s (%s): %s\n", suspect.Node, prefixed(", ", suspect.Device), suspect.Phase, suspect.Why)
	}
	if more := len(g.Suspects) - maxSuspects; more > 0 {
		fmt.Fprintf(&out, "preflight: and %s, all of them in the report\n", count(more, "more suspect"))
	}
	for _, note := range g.Notes {
		fmt.Fprintf(&out, "preflight: note: %s\n", strings.ReplaceAll(note, "\n", "; "))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return g.WriteLine(w, consequence)
}

// WriteLine prints the verdict's line alone.
func (g *Gate) WriteLine(w io.Writer, consequence string) error {
	if _, err := fmt.Fprintf(w, "preflight: %s%s\n", g.Headline(), prefixed(" ", consequence)); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return nil
}

// Headline is the verdict and its figures in one line.
func (g *Gate) Headline() string {
	var figures []string
	for _, sweep := range g.sweeps() {
		figures = append(figures, sweep.figures())
	}
	if g.Reason != "" {
		figures = append(figures, g.Reason)
	}
	word := map[Verdict]string{
		Pass: "PASS", Fail: "FAIL", Unjudged: "NOT JUDGED", Untestable: "NOT TESTABLE",
		Error: "ERROR", Cancelled: "CANCELLED",
	}[g.Verdict]
	return fmt.Sprintf("%s  %s.", word, strings.TrimSuffix(strings.Join(figures, "; "), "."))
}

// sweep is the results of one collective, the largest size last; usually there is one.
type sweep []Result

// sweeps groups the results by their collective. Of one rank alone there are
// none: what it takes is no bandwidth.
func (g *Gate) sweeps() []sweep {
	if g.Verdict == Untestable {
		return nil
	}
	var all []sweep
	for i, result := range g.Results {
		if i == 0 || result.Op != g.Results[i-1].Op {
			all = append(all, nil)
		}
		last := &all[len(all)-1]
		*last = append(*last, result)
	}
	return all
}

// judged is the result that decides, or the largest where the sweep broke off.
func (s sweep) judged() Result { return s[len(s)-1] }

// figures is "allreduce 0.024 GB/s, floor 0.080 GB/s (30 %)".
func (s sweep) figures() string {
	r := s.judged()
	line := fmt.Sprintf("%s %s GB/s", r.Op, bandwidth(r.BusbwGBps))
	if r.Swept {
		line += " at " + size(r.Bytes)
	}
	if r.FloorGBps > 0 {
		line += fmt.Sprintf(", floor %s GB/s (%.0f %%)", bandwidth(r.FloorGBps), 100*r.BusbwGBps/r.FloorGBps)
	}
	if slices.ContainsFunc(s, func(r Result) bool { return !r.Correct }) {
		line += ", " + wrongResults
	}
	return line
}

func (l Library) inBrackets() string {
	if l.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", l.Name, l.Version)
}

// bandwidth prints GB/s with three digits that mean something, from 0.024 to 475.
func bandwidth(gbps float64) string {
	digits := 3
	for limit := 10.0; digits > 1 && gbps >= limit; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(gbps, 'f', digits, 64)
}

// size prints bytes with the binary units of nccl-tests.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for ; bytes >= 1024 && bytes%1024 == 0 && unit < len(units)-1; unit++ {
		bytes /= 1024
	}
	return fmt.Sprintf("%d %s", bytes, units[unit])
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
