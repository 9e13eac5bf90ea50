package command

import (
	"context"

	"github.com/spf13/cobra"

	"slurm-preflight/tests/lab/control"
	"slurm-preflight/tests/lab/process"
)

func kill() *cobra.Command {
	return nodeCommand("kill", "End everything on a node at once, as a power cut would", control.Kill)
}

func start() *cobra.Command {
	return nodeCommand("start", "Give a killed node its power back and wait until it is idle", control.Start)
}

func freeze() *cobra.Command {
	return nodeCommand("freeze", "Stop everything on a node", control.Freeze)
}

func thaw() *cobra.Command {
	return nodeCommand("thaw", "Let a frozen node go on", control.Thaw)
}

func nodeCommand(verb, short string, do func(context.Context, *process.Lab, string) error) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " NODE", Short: short, Args: cobra.ExactArgs(1)}
	name := named(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		lab, err := find(*name)
		if err != nil {
			return err
		}
		return do(cmd.Context(), lab, args[0])
	}
	return cmd
}
