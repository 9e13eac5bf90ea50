package main

import (
	"errors"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
)

// newValidate is the command that the plugin's C front runs at submission where
// it may not load Go into the process of sbatch or srun. ARGS are the plugin's arguments.
func newValidate() *cobra.Command {
	var spec string
	cmd := &cobra.Command{
		Use:    "validate --nccl-validate=SPEC [-- ARGS…]",
		Short:  "Check an option's argument; silent if it is good",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("nccl-validate") {
				return usage(errors.New("nothing to validate: give --nccl-validate=SPEC"))
			}
			if err := collectives.CheckOption(spec, args...); err != nil {
				return usage(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&spec, "nccl-validate", "", "the argument of --nccl-validate")
	return cmd
}
