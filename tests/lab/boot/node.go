package boot

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/link"
	"slurm-preflight/tests/lab/rootfs"
)

// Node is the first process of a node. The caller has locked its thread: the
// cgroup namespace belongs to it alone, and every daemon must start in it.
func Node(spec cluster.Spec, name string) error {
	surviveReader()
	unix.Umask(0o022)
	index, err := spec.Index(name)
	if err != nil {
		return err
	}
	if err := files(spec, name); err != nil {
		return err
	}
	h, err := newHost(name, os.Stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	if err := h.munged(ctx); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return fmt.Errorf("the login host gave up: %w", err)
	}
	if err := link.Configure(link.NodeSide, fmt.Sprintf("%s/%d", cluster.Addr(index), cluster.PrefixBits)); err != nil {
		return err
	}
	if err := link.Shape(link.NodeSide, spec.Rate); err != nil {
		return err
	}
	if err := h.slurmd(); err != nil {
		return err
	}
	select {} // a power cut is the only end of a node
}

// files gives the node its name, its cgroups and its view of the files.
func files(spec cluster.Spec, name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("naming the host: %w", err)
	}
	if spec.Cgroup {
		if err := cgroup.Join(spec.Name, name); err != nil {
			return err
		}
	}
	if err := rootfs.Node(spec.GPUs); err != nil {
		return err
	}
	if spec.Cgroup {
		return cgroup.Mount(rootfs.Cgroups)
	}
	return nil
}
