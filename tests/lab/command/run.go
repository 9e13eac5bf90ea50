package command

import (
	"os"

	"github.com/spf13/cobra"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/session"
)

func run() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run -- COMMAND [ARG]...",
		Short: "Run a command as an ordinary user on the login host, and exit as it does",
		Long: `Run a command as an ordinary user of the cluster on its login host.

The terminal, the standard streams and the signals are the command's own, and
so is the exit code; 128 is added to the number of a signal that ended it. It
runs in the caller's directory, or in the user's home if the user may not
enter that one.`,
		Example: "  lab run -- sinfo\n  lab run --root -- scontrol show config\n  lab run --node n3 -- hostname",
		Args:    cobra.MinimumNArgs(1),
	}
	name := named(cmd)
	user := cmd.Flags().String("user", cluster.Users()[0].Name, "the `user` to be: user, other, or any that the machine has")
	root := cmd.Flags().Bool("root", false, "be root")
	node := cmd.Flags().String("node", cluster.Login, "the `host` to run on")
	dir := cmd.Flags().String("chdir", "", "the `directory` to run in, and nowhere else")
	cmd.Flags().SetInterspersed(false)
	cmd.MarkFlagsMutuallyExclusive("user", "root")
	cmd.RunE = func(_ *cobra.Command, argv []string) error {
		lab, err := find(*name)
		if err != nil {
			return err
		}
		s := session.Session{Lab: *name, User: *user, Dir: *dir, Must: *dir != "", Argv: argv}
		if *root {
			s.User = "root"
		}
		if s.Host, err = lab.Host(*node); err != nil {
			return err
		}
		if s.Dir == "" {
			if s.Dir, err = os.Getwd(); err != nil {
				return err
			}
		}
		return session.Replace(s)
	}
	return cmd
}
