package main

import (
	"slices"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
)

// addCompletion adds cobra's command that prints completion scripts, for the
// shells of Linux. The command prints where the root did when it was added.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	all := root.Commands()
	completion := all[slices.IndexFunc(all, func(cmd *cobra.Command) bool { return cmd.Name() == "completion" })]
	completion.Args = knownCommand
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		if shell.Name() == "powershell" {
			completion.RemoveCommand(shell)
		}
	}
}

// completeSpec completes the argument of --nccl-validate, word by word.
func completeSpec(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return collectives.Complete(text), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
