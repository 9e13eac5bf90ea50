package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
)

func logs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs [NODE|slurmctld]",
		Short: "Show what Slurm's daemons logged, of all hosts or of one",
		Args:  cobra.MaximumNArgs(1),
	}
	name := named(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		lab, err := find(*name)
		if err != nil {
			return err
		}
		hosts := lab.Spec.Hosts()
		if len(args) == 1 {
			if hosts = args; args[0] == "slurmctld" {
				hosts = []string{cluster.Login}
			}
		}
		for _, host := range hosts {
			if err := printLogs(cmd.OutOrStdout(), lab, host); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// printLogs prints every log of a host under its name.
func printLogs(out io.Writer, lab *process.Lab, host string) error {
	if host != cluster.Login {
		if _, err := lab.Spec.Index(host); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(lab.Path(cluster.LogDir(host)) + "/*.log")
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "== %s: %s ==\n%s", host, filepath.Base(path), text); err != nil {
			return err
		}
	}
	return nil
}
