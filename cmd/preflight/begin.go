package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/gate"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
	"slurm-preflight/internal/slurm"
)

// newBegin is the command that the plugin's C front runs before user code: in
// the batch step of sbatch, or as a child of srun. ARGS are the plugin's
// arguments as Slurm gave them to the hook, since a configless host has no file.
func newBegin() *cobra.Command {
	var option, start string
	cmd := &cobra.Command{
		Use:    "begin --start=batch|srun [--nccl-validate=SPEC] [-- ARGS…]",
		Short:  "Do what a job asked for, or the site demands, before its program starts",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			start := gate.Start(start)
			if consequences[start] == nil {
				return usage(errors.New("--start must be batch or srun"))
			}
			site, err := collectives.NewSite(config.FromHook(args, slurm.PlugstackBesideConf()))
			if err != nil {
				return err
			}
			// Standard error, so that the user's own output stays what it was.
			return begin(cmd.Context(), site, option, start, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&start, "start", "", "what starts: batch or srun")
	cmd.Flags().StringVar(&option, "nccl-validate", "", "the argument of --nccl-validate")
	return cmd
}

// begin gates the job, if anybody wants it gated.
func begin(ctx context.Context, site collectives.Site, option string, start gate.Start, out io.Writer) error {
	if site.Broken && start == gate.Batch && option == "" {
		// No report of this job will say it.
		logLines(logged(os.Getenv("SLURM_JOB_ID"), "not gated, gate.default cannot be read", site.Problems))
	}
	demand, err := gate.Demand(ctx, site, option, os.Getenv("SLURM_JOB_ID"), start)
	if err != nil {
		return usage(err)
	}
	run := gateRun{
		demand: demand, problems: site.Problems, consequence: consequences[start], once: start == gate.Srun, retells: start == gate.Batch, out: out,
	}
	return run.gate(ctx)
}

// consequences end the verdict's line, by what starts after the gate.
var consequences = map[gate.Start]func(job string, verdict report.Verdict, exit int) string{
	gate.Batch: func(job string, verdict report.Verdict, exit int) string {
		return consequence("Job "+job, verdict, exit)
	},
	gate.Srun: func(_ string, verdict report.Verdict, exit int) string {
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
