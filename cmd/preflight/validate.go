package main

import (
	"errors"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
)

// validateReport is the JSON of `preflight validate`.
type validateReport struct {
	Schema string `json:"schema"`
	Option string `json:"option"`
	Good   bool   `json:"good"`
	Reason string `json:"reason,omitempty"`
}

// newValidate is the command that the plugin's C front runs at submission where
// it may not load Go into the process of sbatch or srun. ARGS are the plugin's arguments.
func newValidate() *cobra.Command {
	var spec string
	var asJSON bool
	cmd := &cobra.Command{
		Use:    "validate --nccl-validate=SPEC [-- ARGS…]",
		Short:  "Check an option's argument; silent if it is good",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("nccl-validate") {
				return usage(errors.New("nothing to validate: give --nccl-validate=SPEC"))
			}
			report := validateReport{Schema: "preflight.validate/1", Option: collectives.OptionSource + "=" + spec, Good: true}
			wrong := collectives.CheckOption(spec, args...)
			if wrong != nil {
				report.Good, report.Reason = false, wrong.Error()
			}
			if asJSON {
				if err := writeJSON(cmd.OutOrStdout(), report); err != nil {
					return err
				}
			}
			if wrong != nil {
				return usage(wrong)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON too")
	cmd.Flags().StringVar(&spec, "nccl-validate", "", "the argument of --nccl-validate")
	return cmd
}
