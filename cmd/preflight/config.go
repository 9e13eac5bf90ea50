package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
)

const configHelp = `Print every setting with its value and where that came from, then what is wrong.

The settings are read as a job meets them: built in, below the YAML file that
plugstack.conf names with config=, below the plugin's arguments in plugstack.conf.
With ARGS, these are taken for the plugin's arguments and no plugstack.conf is read.

Exit code 78 says that something is wrong. Jobs run nevertheless: a wrong entry
is skipped, and what the layer below it says holds.`

func newConfig() *cobra.Command {
	var plugstack string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config [flags] [-- ARGS…]",
		Short: "Print the effective settings and where each came from",
		Long:  configHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := len(args) > 0 || cmd.ArgsLenAtDash() >= 0
			if given && cmd.Flags().Changed("plugstack") {
				return usage(errors.New("--plugstack and ARGS exclude each other"))
			}
			if _, err := os.Stat(plugstack); err != nil && cmd.Flags().Changed("plugstack") {
				return exitError{exitcode.Config, err}
			}
			report, err := explain(plugstack, args, given)
			if err != nil {
				return err
			}
			return report.print(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().StringVar(&plugstack, "plugstack", defaultPlugstack(), "the plugstack.conf to read")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// defaultPlugstack is where Slurm looks unless slurm.conf says otherwise: beside slurm.conf.
func defaultPlugstack() string {
	if conf := os.Getenv("SLURM_CONF"); conf != "" {
		return filepath.Join(filepath.Dir(conf), "plugstack.conf")
	}
	return "/etc/slurm/plugstack.conf"
}

// configReport is what `preflight config` prints, and its JSON.
type configReport struct {
	Schema   string           `json:"schema"`
	Note     string           `json:"note,omitempty"`
	Settings []config.Setting `json:"settings"`
	Problems []config.Problem `json:"problems"`
}

// explain reads the arguments if they were given, and else the file.
func explain(plugstack string, args []string, given bool) (configReport, error) {
	report := configReport{Schema: "preflight.config/1", Problems: []config.Problem{}}
	var site []config.Layer
	var problems []config.Problem
	if given {
		site, problems = config.FromArgs(args)
	} else if site, problems = config.FromPlugstack(plugstack); site == nil {
		report.Note = plugstack + " has no line for spank_preflight.so: these are the built-in settings"
		if _, err := os.Stat(plugstack); err != nil {
			report.Note = plugstack + " cannot be found: these are the built-in settings"
		}
	}
	effective, err := collectives.NewSite(site, problems)
	if err != nil {
		return configReport{}, err
	}
	report.Settings = effective.Config.Explain()
	report.Problems = append(report.Problems, effective.Problems...)
	return report, nil
}

func (r configReport) print(w io.Writer, asJSON bool) error {
	write := r.writeText
	if asJSON {
		write = r.writeJSON
	}
	if err := write(w); err != nil {
		return err
	}
	switch len(r.Problems) {
	case 0:
		return nil
	case 1:
		return exitError{exitcode.Config, errors.New("1 problem in the configuration")}
	default:
		return exitError{exitcode.Config, fmt.Errorf("%d problems in the configuration", len(r.Problems))}
	}
}

func (r configReport) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r configReport) writeText(w io.Writer) error {
	page := r.table()
	if r.Note != "" {
		page = r.Note + "\n\n" + page
	}
	if len(r.Problems) > 0 {
		page += "\n\nProblems; each of these entries is skipped:"
	}
	for _, problem := range r.Problems {
		page += "\n  " + problem.String()
	}
	_, err := fmt.Fprintln(w, page)
	return err
}

func (r configReport) table() string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft = "  "
	style.Box.PaddingRight = ""
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(table.Row{"setting", "value", "from"})
	for _, s := range r.Settings {
		value := s.Value
		if value == "" {
			value = "-"
		}
		t.AppendRow(table.Row{s.Key, value, s.Source})
	}
	return t.Render()
}
