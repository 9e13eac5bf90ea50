// Package report is what the gate leaves behind: gate.json, whose field names
// are stable from the first release on, and the table in the job's output.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Schema names the format of gate.json.
const Schema = "preflight.gate/1"

// Verdict is what the gate says of the job's nodes.
type Verdict string

// The verdicts.
const (
	Pass       Verdict = "pass"
	Fail       Verdict = "fail"
	Unjudged   Verdict = "unjudged"   // measured, but nobody gave a floor
	Untestable Verdict = "untestable" // one rank moves nothing over a link
	Error      Verdict = "error"      // the gate could not measure
	Cancelled  Verdict = "cancelled"
)

// Gate is one run of the gate, as gate.json holds it.
type Gate struct {
	Schema  string `json:"schema"`
	Job     string `json:"job"`
	Attempt int    `json:"attempt"`
	// Component is Slurm's name for the job if it is a component of a heterogeneous job, such as 52+1.
	Component string  `json:"component,omitempty"`
	Verdict   Verdict `json:"verdict"`
	// Exit is the exit code of the gate: 0 with on-fail=warn, whatever the verdict.
	Exit    int     `json:"exit"`
	Reason  string  `json:"reason,omitempty"`
	Spec    string  `json:"spec,omitempty"`
	Started string  `json:"started,omitempty"` // when Slurm started this attempt of the job
	Backend string  `json:"backend"`
	Library Library `json:"library"`
	// Nodes are the job's nodes in Slurm's order.
	Nodes    []string  `json:"nodes"`
	Results  []Result  `json:"results"`
	Suspects []Suspect `json:"suspects"`
	Rounds   int       `json:"rounds"`
	Phases   []Phase   `json:"phases"`
	Notes    []string  `json:"notes"`
}

// Library is the collective library that was measured with.
type Library struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Scope says over which ranks a result was measured.
type Scope string

// ScopeJob is all ranks of the job.
const ScopeJob Scope = "job"

// Result is one measured collective.
type Result struct {
	Op    string   `json:"op"`
	Scope Scope    `json:"scope"`
	Nodes []string `json:"nodes"`
	Ranks int      `json:"ranks"`
	Bytes int64    `json:"bytes"`
	Iters int      `json:"iters"`
	// Seconds is the median time of one iteration on the slowest rank.
	Seconds     float64 `json:"seconds"`
	AlgbwGBps   float64 `json:"algbw_gbps"`
	BusbwGBps   float64 `json:"busbw_gbps"`
	FloorGBps   float64 `json:"floor_gbps"` // 0: no floor
	FloorSource string  `json:"floor_source,omitempty"`
	Correct     bool    `json:"correct"`
	// Swept is any size of a sweep but the largest: its bandwidth is not judged.
	Swept bool `json:"swept,omitempty"`
	// NodeBusbwGBps is the busbw that each node saw, in the order of Nodes.
	NodeBusbwGBps []float64 `json:"node_busbw_gbps,omitempty"`
}

// Suspect is a node that the gate points at.
type Suspect struct {
	Node         string  `json:"node"`
	Device       string  `json:"device,omitempty"`
	Phase        string  `json:"phase"`
	Why          string  `json:"why"`
	MeasuredGBps float64 `json:"measured_gbps,omitempty"`
	ExpectedGBps float64 `json:"expected_gbps,omitempty"`
}

// Phase is a part of the gate and how long it took.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Seconds is how long all phases took.
func (g *Gate) Seconds() float64 {
	var sum float64
	for _, phase := range g.Phases {
		sum += phase.Seconds
	}
	return sum
}

// Answers reports that this gate makes another measurement of now unnecessary:
// it found the same job, attempt and nodes fit by the same specification.
func (g *Gate) Answers(now Gate) bool {
	passed := g.Verdict == Pass || g.Verdict == Unjudged || g.Verdict == Untestable
	return passed && g.same(now)
}

// LetThrough reports that the same gate has been here before and that the job went on, whatever was found.
func (g *Gate) LetThrough(now Gate) bool { return g.Exit == 0 && g.same(now) }

// same compares what a gate is about. The start time tells the job from one of
// the same number on another cluster.
func (g *Gate) same(now Gate) bool {
	return g.Schema == Schema && g.Job == now.Job && g.Attempt == now.Attempt && g.Spec == now.Spec &&
		g.Started != "" && g.Started == now.Started && slices.Equal(g.Nodes, now.Nodes)
}

// WriteJSON writes the report, with empty lists as lists, for readers that do not expect null.
func (g *Gate) WriteJSON(w io.Writer) error {
	whole := *g
	whole.Schema = Schema
	whole.Nodes = append([]string{}, g.Nodes...)
	whole.Results = append([]Result{}, g.Results...)
	whole.Suspects = append([]Suspect{}, g.Suspects...)
	whole.Phases = append([]Phase{}, g.Phases...)
	whole.Notes = append([]string{}, g.Notes...)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(whole); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
