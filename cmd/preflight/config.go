package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/slurm"
)

const configHelp = `Print every setting with its value and where that came from, then what is wrong.

The settings are read as a job meets them: built in, below the YAML file that
plugstack.conf names with config=, below the plugin's arguments in plugstack.conf.
With ARGS, these are taken for the plugin's arguments and no plugstack.conf is read.

Exit code 78 says that something is wrong. Jobs run nevertheless: a wrong entry
is skipped, and what the layer below it says holds.`

func newConfig() *cobra.Command {
	var plugstack func(context.Context) string
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
			report, err := explainArgs(args)
			if !given {
				path := plugstack(cmd.Context())
				if _, err := os.Stat(path); err != nil && cmd.Flags().Changed("plugstack") {
					return exitError{exitcode.Config, err}
				}
				report, err = explainFile(path)
			}
			if err != nil {
				return err
			}
			return report.print(cmd.OutOrStdout(), asJSON)
		},
	}
	plugstack = plugstackFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// plugstackFlag adds --plugstack to a command. The function that it returns gives
// the path; without the flag that is found where Slurm has it.
func plugstackFlag(cmd *cobra.Command) func(context.Context) string {
	path := cmd.Flags().String("plugstack", "", "the plugstack.conf to read (default the one that Slurm uses)")
	return func(ctx context.Context) string {
		if *path != "" {
			return *path
		}
		return slurm.Plugstack(ctx)
	}
}

// configReport is what `preflight config` prints, and its JSON.
type configReport struct {
	Schema   string           `json:"schema"`
	Note     string           `json:"note,omitempty"`
	Settings []config.Setting `json:"settings"`
	Problems []config.Problem `json:"problems"`
}

// explainFile explains a plugstack.conf.
func explainFile(plugstack string) (configReport, error) {
	layers, problems := config.FromPlugstack(plugstack)
	note := ""
	if layers == nil {
		note = plugstack + " has no line for spank_preflight.so: these are the built-in settings"
		if _, err := os.Stat(plugstack); err != nil {
			note = plugstack + " cannot be found: these are the built-in settings"
		}
	}
	return explain(note, layers, problems)
}

// explainArgs explains arguments of the plugin.
func explainArgs(args []string) (configReport, error) {
	layers, problems := config.FromArgs(args)
	return explain("", layers, problems)
}

func explain(note string, layers []config.Layer, problems []config.Problem) (configReport, error) {
	site, err := collectives.NewSite(layers, problems)
	return configReport{
		Schema: "preflight.config/1", Note: note,
		Settings: site.Config.Explain(), Problems: append([]config.Problem{}, site.Problems...),
	}, err
}

func (r configReport) print(w io.Writer, asJSON bool) error {
	var err error
	if asJSON {
		err = writeJSON(w, r)
	} else {
		err = r.writeText(w)
	}
	if err != nil {
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
