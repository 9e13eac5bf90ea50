package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"slurm-preflight/tests/lab/boot"
	"slurm-preflight/tests/lab/cgroup"
	"slurm-preflight/tests/lab/cluster"
	"slurm-preflight/tests/lab/link"
	"slurm-preflight/tests/lab/namespace"
	"slurm-preflight/tests/lab/process"
)

// nodeDeadline is how long an order to a node may take.
const nodeDeadline = 10 * time.Second

// Kill ends everything on a node at once, as a power cut would.
func Kill(ctx context.Context, lab *process.Lab, node string) error {
	ctx, cancel := context.WithTimeout(ctx, nodeDeadline)
	defer cancel()
	pid, err := nodePID(lab, node)
	if err != nil {
		return err
	}
	if err := cgroup.Thaw(lab.Spec.Name, node); err != nil {
		return err
	}
	if err := process.Kill(ctx, pid); err != nil {
		return err
	}
	return cgroup.Remove(ctx, lab.Spec.Name, node)
}

// Freeze stops everything on a node; Thaw lets it go on.
func Freeze(ctx context.Context, lab *process.Lab, node string) error {
	return settle(ctx, lab, node, process.Freeze)
}

// Thaw lets a frozen node go on.
func Thaw(ctx context.Context, lab *process.Lab, node string) error {
	return settle(ctx, lab, node, process.Thaw)
}

func settle(ctx context.Context, lab *process.Lab, node string, do func(context.Context, int) error) error {
	ctx, cancel := context.WithTimeout(ctx, nodeDeadline)
	defer cancel()
	pid, err := nodePID(lab, node)
	if err != nil {
		return err
	}
	return do(ctx, pid)
}

func nodePID(lab *process.Lab, node string) (int, error) {
	if _, err := lab.Spec.Index(node); err != nil {
		return 0, err
	}
	return lab.Host(node)
}

// Start gives a killed node its power back, and returns when Slurm has it
// back.
func Start(ctx context.Context, lab *process.Lab, node string) error {
	ctx, cancel := context.WithTimeout(ctx, boot.Deadline)
	defer cancel()
	if err := order(ctx, lab, node); err != nil {
		return err
	}
	var last map[string]string
	err := process.Eventually(ctx, 50*time.Millisecond, func() bool {
		states, err := States(ctx, lab)
		last = states
		return err == nil && slices.Contains([]string{"idle", "mixed", "allocated", "completing"}, states[node])
	})
	if err != nil {
		return fmt.Errorf("node %s has power, but Slurm says it is %q: %w", node, last[node], err)
	}
	return nil
}

// order asks the lab's first process to start a node.
func order(ctx context.Context, lab *process.Lab, node string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", lab.Path(cluster.Socket))
	if err != nil {
		return fmt.Errorf("asking lab %s: %w", lab.Spec.Name, err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := fmt.Fprintln(conn, node); err != nil {
		return fmt.Errorf("asking lab %s: %w", lab.Spec.Name, err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("asking lab %s: %w", lab.Spec.Name, err)
	}
	if answer = strings.TrimSpace(answer); answer != boot.Done {
		return errors.New(answer)
	}
	return nil
}

// Link changes a node's link: up, down, or a rate. Both ends are shaped.
func Link(lab *process.Lab, node, state string) error {
	pid, err := nodePID(lab, node)
	if err != nil {
		return err
	}
	if state == "down" {
		return namespace.In(lab.Init, func() error { return link.Cut(node) })
	}
	rate := lab.Spec.Rate
	if state != "up" {
		if rate, err = link.ParseRate(state); err != nil {
			return err
		}
	}
	if err := namespace.In(pid, func() error { return link.Shape(link.NodeSide, rate) }); err != nil {
		return err
	}
	return namespace.In(lab.Init, func() error {
		if err := link.Shape(node, rate); err != nil {
			return err
		}
		return link.Raise(node)
	})
}

// LinkState is what a node's link can carry now.
func LinkState(lab *process.Lab, node string) (string, error) {
	var state string
	err := namespace.In(lab.Init, func() (err error) {
		state, err = link.State(node)
		return err
	})
	return state, err
}
