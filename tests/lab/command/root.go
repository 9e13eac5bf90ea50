// Package command is the lab's command line.
package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
)

// exitFailure and exitUsage are the lab's own exit codes. A command that
// `lab run` started gives its own.
const (
	exitFailure = 1
	exitUsage   = 64
)

// usageError is a mistake in the command line.
type usageError struct{ error }

// Execute runs the command line and returns the exit code.
func Execute() int {
	err := root().Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitFailure
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lab",
		Short:         "A real Slurm cluster on one machine, gone without a trace when you are done",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if os.Geteuid() != 0 {
				return errors.New("the lab makes namespaces and devices: run it as root")
			}
			return nil
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.AddCommand(up(), run(), linkCommand(), set(), kill(), start(), freeze(), thaw(), logs(), status(), down())
	return cmd
}

// named adds --name to a command.
func named(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "default", "the lab's `name`; labs with different names do not meet")
}

// find looks a lab up by its --name.
func find(name string) (*process.Lab, error) {
	if err := cluster.CheckName(name); err != nil {
		return nil, usageError{err}
	}
	return process.Find(name)
}
