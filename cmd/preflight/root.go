package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"slurm-preflight/internal/config"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "preflight",
		Short:         "Measure a job's nodes before its program starts",
		Version:       version,
		SilenceErrors: true, // main prints them
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath()))
	})
	root.AddCommand(newGate(), newBegin(), newConfig(), newValidate(), newVersion())
	return root
}

// knownCommand names the nearest command where the first word is none.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	if near, ok := config.Nearest(args[0], known); ok {
		return usage(fmt.Errorf("unknown command %s: did you mean %q?", config.Quote(args[0]), near))
	}
	return usage(fmt.Errorf("unknown command %s; `preflight help` lists the commands", config.Quote(args[0])))
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no argument %s", cmd.CommandPath(), config.Quote(args[0])))
	}
	return nil
}
