package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// maxRows is how many nodes the table lists; of a larger job it shows the slowest.
const maxRows = 16

// WriteTable prints the report as the user sees it in the job's output. Consequence
// ends the verdict's line: what happens to the job now.
func (g *Gate) WriteTable(w io.Writer, consequence string) error {
	var out strings.Builder
	for _, result := range g.figures() {
		fmt.Fprintf(&out, "preflight: %s on %s, %s backend%s, %s, %s\n", result.Op, count(len(result.Nodes), "node"),
			g.Backend, g.Library.inBrackets(), size(result.Bytes), count(result.Iters, "iteration"))
		out.WriteString(result.rows())
	}
	for _, suspect := range g.Suspects {
		fmt.Fprintf(&out, "preflight: suspect %s (%s): %s\n", suspect.Node, suspect.Phase, suspect.Why)
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
	for _, result := range g.figures() {
		figures = append(figures, result.figures())
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

// figures are the results that say something: what one rank alone takes is no bandwidth.
func (g *Gate) figures() []Result {
	if g.Verdict == Untestable {
		return nil
	}
	return g.Results
}

// figures is "allreduce 0.024 GB/s, floor 0.080 GB/s (30 %)".
func (r Result) figures() string {
	line := fmt.Sprintf("%s %s GB/s", r.Op, bandwidth(r.BusbwGBps))
	if r.FloorGBps > 0 {
		line += fmt.Sprintf(", floor %s GB/s (%.0f %%)", bandwidth(r.FloorGBps), 100*r.BusbwGBps/r.FloorGBps)
	}
	if !r.Correct {
		line += ", WRONG RESULTS"
	}
	return line
}

func (l Library) inBrackets() string {
	if l.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", l.Name, l.Version)
}

// rows is the table of one result, the slowest nodes first where not all have room.
func (r Result) rows() string {
	t := table.NewWriter()
	t.SetStyle(table.Style{Box: table.BoxStyle{PaddingLeft: "  ", PaddingRight: " "}})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 4, Align: text.AlignRight, AlignHeader: text.AlignRight},
	})
	t.AppendHeader(table.Row{"node", "ranks", "GB/s busbw", "floor"})
	order := r.order()
	for _, i := range order {
		t.AppendRow(table.Row{r.Nodes[i], r.Ranks / len(r.Nodes), bandwidth(r.NodeBusbwGBps[i]), r.floor()})
	}
	if hidden := len(r.NodeBusbwGBps) - len(order); hidden > 0 {
		t.AppendRow(table.Row{fmt.Sprintf("%d more", hidden)})
	}
	t.AppendRow(table.Row{"job", r.Ranks, bandwidth(r.BusbwGBps), r.floor()})
	return trimLines(t.Render())
}

// order is the nodes to show: all in Slurm's order, or the slowest.
func (r Result) order() []int {
	order := make([]int, len(r.NodeBusbwGBps))
	for i := range order {
		order[i] = i
	}
	if len(order) <= maxRows {
		return order
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case r.NodeBusbwGBps[a] < r.NodeBusbwGBps[b]:
			return -1
		case r.NodeBusbwGBps[a] > r.NodeBusbwGBps[b]:
			return 1
		}
		return 0
	})
	return order[:maxRows]
}

func (r Result) floor() string {
	if r.FloorGBps <= 0 {
		return "none"
	}
	return bandwidth(r.FloorGBps)
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

func trimLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text + "\n") {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
