package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// maxRows is how many nodes the table lists; of a larger job it shows the slowest.
const maxRows = 16

// rows is the table of one result, the slowest nodes first where not all have room.
func (r Result) rows() string {
	t := newTable("node", "ranks", "GB/s busbw", "floor")
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

// sizes is the table of a sweep.
func (s sweep) sizes() string {
	t := newTable("size", "iterations", "GB/s algbw", "GB/s busbw")
	for _, r := range s {
		row := table.Row{size(r.Bytes), r.Iters, bandwidth(r.AlgbwGBps), bandwidth(r.BusbwGBps)}
		if !r.Correct {
			row = append(row, wrongResults)
		}
		t.AppendRow(row)
	}
	return trimLines(t.Render())
}

// newTable is a table without lines whose figures stand at the right.
func newTable(columns ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.Style{Box: table.BoxStyle{PaddingLeft: "  ", PaddingRight: " "}})
	var configs []table.ColumnConfig
	for i := 2; i <= len(columns); i++ {
		configs = append(configs, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(columns)
	return t
}

func trimLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text + "\n") {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
