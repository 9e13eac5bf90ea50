package control

import (
	"fmt"
	"os"

	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/process"
	"slurm-preflight/tests/lab/rootfs"
)

// Set rewrites the plugin's line in plugstack.conf. Slurm's commands and every
// new step read it anew.
func Set(lab *process.Lab, change func(cluster.Plugstack) (cluster.Plugstack, error)) error {
	path := lab.Path(rootfs.PlugstackPath)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	line, err := cluster.ParsePlugstack(string(text))
	if err != nil {
		return err
	}
	if line, err = change(line); err != nil {
		return err
	}
	conf := line.Conf(rootfs.Built(lab.Path(cluster.Product)))
	if err := os.WriteFile(path+".new", []byte(conf), 0o644); err != nil {
		return fmt.Errorf("rewriting plugstack.conf: %w", err)
	}
	return os.Rename(path+".new", path)
}
