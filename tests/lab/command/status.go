package command

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/control"
	"slurm-preflight/tests/lab/process"
)

func status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a lab's nodes and links; without --name list all labs",
		Args:  cobra.NoArgs,
	}
	name := cmd.Flags().String("name", "", "the lab's `name`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		names := []string{*name}
		if *name == "" {
			var err error
			if names, err = process.Names(); err != nil {
				return err
			}
		}
		if len(names) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "no lab is up")
		}
		for _, name := range names {
			lab, err := find(name)
			if err != nil {
				return err
			}
			if err := show(cmd.Context(), cmd.OutOrStdout(), lab); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// show prints one lab. A controller that does not answer leaves the states
// unknown, but shows the rest.
func show(ctx context.Context, out io.Writer, lab *process.Lab) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	states, err := control.States(ctx, lab)
	if err != nil {
		fmt.Fprintln(out, err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "LAB %s\tHOST\tPID\tADDRESS\tLINK\tSTATE\n", lab.Spec.Name)
	fmt.Fprintf(table, "\t%s\t%d\t%s\t\tcontroller\n", cluster.Login, lab.Init, cluster.LoginAddr)
	for i, node := range lab.Spec.NodeNames() {
		pid, link, state := "-", "-", "no power"
		if p := lab.Nodes[node]; p > 0 {
			pid, state = fmt.Sprint(p), states[node]
			if link, err = control.LinkState(lab, node); err != nil {
				return err
			}
		}
		fmt.Fprintf(table, "\t%s\t%s\t%s\t%s\t%s\n", node, pid, cluster.Addr(i+1), link, state)
	}
	return table.Flush()
}
