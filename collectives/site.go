package collectives

import (
	"fmt"
	"slices"
	"strconv"

	"slurm-preflight/internal/config"
)

// Site is what the administrator decided about gates, for all jobs.
type Site struct {
	// Config holds the settings of the site, before any option.
	Config config.Config
	// Problems are what is wrong in the site's configuration.
	Problems []config.Problem
	// Broken says that gate.default is one of them, so that jobs are not gated which should be.
	Broken bool

	layers   []config.Layer
	standard Spec // what gate.default says; no collectives if it says nothing
}

// NewSite reads the layers of a site; problems are those found on the way to them.
func NewSite(layers []config.Layer, problems []config.Problem) (Site, error) {
	cfg, more, err := config.Load(layers)
	if err != nil {
		return Site{}, err
	}
	site := Site{Config: cfg, Problems: slices.Concat(problems, more), layers: layers}
	var wrong string
	if site.standard, wrong = readDefault(cfg.Gate.Default.Spec); wrong != "" {
		site.Broken = true
		site.Problems = append(site.Problems, config.Problem{
			Source: cfg.Source(config.DefaultKey), Key: config.DefaultKey, Value: cfg.Gate.Default.Spec, Reason: wrong,
		})
	}
	return site, nil
}

// readDefault reads gate.default, or says what is wrong with it.
func readDefault(text string) (spec Spec, wrong string) {
	if text == "" {
		return Spec{}, ""
	}
	spec, err := ParseSpec(text)
	if err != nil {
		return Spec{}, err.Error()
	}
	if spec.Report != "" {
		return Spec{}, fmt.Sprintf("report=%s: one file cannot hold the reports of all jobs", spec.Report)
	}
	return spec, ""
}

// Demand is what one job is to be measured for. Without collectives it is no gate.
type Demand struct {
	Spec Spec
	// Text is the specification in words; the same text is the same demand.
	Text   string
	Config config.Config
	// Asked says that the user asked for a gate, and not the site alone.
	Asked bool
	// Notes tell the user what the site decided.
	Notes []string
}

// HasDefault says whether jobs that do not ask may be gated at all.
func (s Site) HasDefault() bool { return len(s.standard.Ops) > 0 }

// Standing says whether the site's default may matter to a job with this
// option, empty for none. Where it does not, nobody has to look at the job.
func (s Site) Standing(option string) bool {
	return s.HasDefault() && (option == "" || s.Config.Gate.Enforce)
}

// Demand weighs the site's default, if it is meant for the job, against the
// user's option, if there is one.
func (s Site) Demand(option string, meant bool) (Demand, error) {
	standard := Spec{}
	if meant && s.Standing(option) {
		standard = s.standard
	}
	if option == "" {
		return s.byDefault(standard)
	}
	user, err := ParseSpec(option)
	switch {
	case err != nil:
		return Demand{}, err
	case user.Off:
		demand, err := s.byDefault(standard)
		if len(standard.Ops) > 0 {
			demand.Notes = append(demand.Notes, OptionSource+"="+off+" is ignored: "+s.enforced())
		}
		return demand, err
	case s.Config.Gate.Enforce:
		return s.enforce(standard, user, option)
	default:
		return s.Asked(option)
	}
}

// Asked is the demand of an option alone, over the site's settings.
func (s Site) Asked(option string) (Demand, error) {
	spec, err := ParseSpec(option)
	if err != nil {
		return Demand{}, err
	}
	cfg, _, err := config.Load(s.layers, spec.Layer())
	return Demand{Spec: spec, Text: option, Config: cfg, Asked: true}, err
}

func (s Site) byDefault(standard Spec) (Demand, error) {
	if len(standard.Ops) == 0 {
		return Demand{Config: s.Config}, nil
	}
	cfg, _, err := config.Load(s.layers, s.standing(standard))
	note := "this site measures jobs that do not ask for it (gate.default at " + s.Config.Source(config.DefaultKey) + ")"
	if !s.Config.Gate.Enforce {
		note += "; " + OptionSource + "=" + off + " opts out"
	}
	return Demand{Spec: standard, Text: s.Config.Gate.Default.Spec, Config: cfg, Notes: []string{note}}, err
}

// standing is the layer of the site's default: its words count as the site's.
func (s Site) standing(standard Spec) config.Layer {
	return standard.layer(s.Config.Source(config.DefaultKey))
}

// enforce takes from the user's option what asks for more than the site does.
func (s Site) enforce(standard, user Spec, option string) (Demand, error) {
	site, _, err := config.Load(s.layers, s.standing(standard))
	if err != nil {
		return Demand{}, err
	}
	demand := Demand{Spec: standard, Text: option, Asked: true}
	if len(standard.Ops) > 0 {
		demand.Text = s.Config.Gate.Default.Spec + "," + option
	}
	demand.Spec.Report = user.Report
	demand.Spec.Ops = slices.Clone(standard.Ops)
	for _, op := range user.Ops {
		if !slices.Contains(standard.Ops, op) {
			demand.Spec.Ops = append(demand.Spec.Ops, op)
		}
	}
	var more config.Layer
	for _, entry := range user.Layer() {
		held := site.Value(entry.Key)
		switch {
		case asksMore(entry.Key, entry.Value, held):
			more = append(more, entry)
		case entry.Value != held:
			demand.Notes = append(demand.Notes, fmt.Sprintf("%s=%s of %s is ignored, %s=%s holds: %s",
				entry.Key, entry.Value, OptionSource, entry.Key, held, s.enforced()))
		}
	}
	demand.Config, _, err = config.Load(s.layers, s.standing(standard), more)
	return demand, err
}

func (s Site) enforced() string {
	return "this site enforces its gate (gate.enforce at " + s.Config.Source(config.EnforceKey) + ")"
}

// asksMore says whether a value is stricter than the one that it would replace:
// a higher floor, or a job that stops where the site would let it run. How the
// measurement is made is the site's alone, since its floors were chosen for it.
func asksMore(key, value, held string) bool {
	if key == onFailKey {
		return held == string(config.OnFailWarn)
	}
	if !isFloorKey(key) {
		return false
	}
	asked, err := strconv.ParseFloat(value, 64)
	floor, err2 := strconv.ParseFloat(held, 64)
	return err == nil && err2 == nil && asked > floor
}
