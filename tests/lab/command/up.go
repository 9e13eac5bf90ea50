package command

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/control"
	"slurm-preflight/tests/lab/link"
	"slurm-preflight/tests/lab/rootfs"
)

func up() *cobra.Command {
	spec := cluster.Spec{Rate: 1_000_000_000}
	var settings []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and wait until all its nodes are idle",
		Args:  cobra.NoArgs,
	}
	name := named(cmd)
	flags := cmd.Flags()
	flags.IntVar(&spec.Nodes, "nodes", 4, "how many nodes: n1 to n`N`")
	flags.IntVar(&spec.GPUs, "gpus", 0, "device files /dev/nvidia0 to `G`-1 on every node, known to Slurm")
	flags.Var(&spec.Rate, "rate", "speed of every node's link")
	flags.BoolVar(&spec.Cgroup, "cgroup", false, "confine jobs with cgroups (v1)")
	flags.StringArrayVar(&settings, "set", nil, "argument `key=value` of the plugin in plugstack.conf")
	flags.BoolVar(&spec.Plugin.Optional, "optional", false, "name the plugin optional in plugstack.conf, not required")
	flags.StringArrayVar(&spec.Conf, "conf", nil, "further `line` of slurm.conf")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		spec.Name = *name
		if spec.Plugin, err = spec.Plugin.With(settings); err != nil {
			return usageError{err}
		}
		if err := spec.Check(); err != nil {
			return usageError{err}
		}
		if spec.Build, err = build(); err != nil {
			return err
		}
		if !rootfs.Built(spec.Build) {
			fmt.Fprintf(os.Stderr, "lab: %s is not built: the cluster runs without the plugin\n",
				filepath.Join(spec.Build, "lib", filepath.Base(cluster.Plugin)))
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
		defer stop()
		return control.Up(ctx, spec)
	}
	return cmd
}

// build is the build tree that this program lies in.
func build() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(self)), nil
}

func down() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove a lab and everything that is left of it",
		Args:  cobra.NoArgs,
	}
	name := named(cmd)
	all := cmd.Flags().Bool("all", false, "remove all labs")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *all {
			return control.DownAll(cmd.Context())
		}
		if err := cluster.CheckName(*name); err != nil {
			return usageError{err}
		}
		return control.Down(cmd.Context(), *name)
	}
	return cmd
}

func set() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "set [key=value | key=]...",
		Short:   "Rewrite the plugin's line in plugstack.conf",
		Example: "  lab set gate.min.allreduce=0.08\n  lab set gate.min.allreduce= --optional",
	}
	name := named(cmd)
	required := cmd.Flags().Bool("required", false, "name the plugin required")
	optional := cmd.Flags().Bool("optional", false, "name the plugin optional")
	cmd.MarkFlagsMutuallyExclusive("required", "optional")
	cmd.RunE = func(_ *cobra.Command, settings []string) error {
		lab, err := find(*name)
		if err != nil {
			return err
		}
		return control.Set(lab, func(line cluster.Plugstack) (cluster.Plugstack, error) {
			line.Optional = *optional || line.Optional && !*required
			line, err := line.With(settings)
			if err != nil {
				return line, usageError{err}
			}
			return line, nil
		})
	}
	return cmd
}

func linkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "link NODE up|down|RATE",
		Short:   "Make a node's link slow, cut it, or mend it",
		Example: "  lab link n3 200mbit\n  lab link n3 down\n  lab link n3 up",
		Args:    cobra.ExactArgs(2),
	}
	name := named(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if _, err := link.ParseRate(args[1]); err != nil && args[1] != "up" && args[1] != "down" {
			return usageError{err}
		}
		lab, err := find(*name)
		if err != nil {
			return err
		}
		return control.Link(lab, args[0], args[1])
	}
	return cmd
}
