package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
)

// newBegin is the command that the plugin's C front runs before user code: in
// the batch step of sbatch, or as a child of srun. ARGS are the plugin's
// arguments as Slurm gave them to the hook, since a configless host has no file.
func newBegin() *cobra.Command {
	var spec, start string
	cmd := &cobra.Command{
		Use:    "begin --start=batch|srun --nccl-validate=SPEC [-- ARGS…]",
		Short:  "Do what a job asked for before its program starts",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			consequence, known := consequences[start]
			if !known {
				return usage(errors.New("--start must be batch or srun"))
			}
			site, problems := config.FromArgs(args)
			// Standard error, so that the user's own output stays what it was.
			run := gateRun{
				spec: spec, site: site, problems: problems, consequence: consequence,
				once: start == startSrun, out: cmd.ErrOrStderr(),
			}
			return run.gate(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&start, "start", "", "what starts: batch or srun")
	cmd.Flags().StringVar(&spec, "nccl-validate", "", "the argument of --nccl-validate")
	return cmd
}

const (
	startBatch = "batch"
	startSrun  = "srun"
)

// consequences end the verdict's line, by what starts after the gate.
var consequences = map[string]func(job string, verdict report.Verdict, exit int) string{
	startBatch: func(job string, verdict report.Verdict, exit int) string {
		return consequence("Job "+job, verdict, exit)
	},
	startSrun: func(_ string, verdict report.Verdict, exit int) string {
		return consequence("srun", verdict, exit)
	},
}

func consequence(who string, verdict report.Verdict, exit int) string {
	switch {
	case exit != exitcode.Fit:
		return fmt.Sprintf("%s stops with exit code %d.", who, exit)
	case verdict == report.Fail || verdict == report.Error:
		return who + " runs all the same."
	default:
		return who + " runs."
	}
}
