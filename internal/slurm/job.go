// Package slurm talks to Slurm through its own commands: what a job has, and
// how a step is started beside the user's own.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Job is what the gate needs to know of a job.
type Job struct {
	ID string
	// HetLeader is the first component of the heterogeneous job that this is
	// component HetOffset of; empty for a plain job.
	HetLeader string
	HetOffset int
	// State is Slurm's word for it, such as RUNNING or CANCELLED.
	State string
	// Partition is the one that it runs in.
	Partition string
	// Batch says that it has a batch script, and so a batch step.
	Batch bool
	// Started is when this attempt began, as scontrol prints it. With the id it
	// names one attempt on one cluster, since ids begin again on a new cluster.
	Started string
	// Suspended is when Slurm last suspended the job or let it go on, as scontrol prints it.
	Suspended string
	Restart   int
	// Nodes are the node names in Slurm's order.
	Nodes []string
	// GPUs is the number of allocated GPUs by node name; a node without any is missing.
	GPUs map[string]int
}

// commandTimeout bounds one scontrol, which answers in milliseconds unless slurmctld is in trouble.
const commandTimeout = 30 * time.Second

// ShowJob asks slurmctld about a job.
func ShowJob(ctx context.Context, id string) (Job, error) {
	text, err := showJob(ctx, id)
	if err != nil {
		return Job{}, err
	}
	record, err := parseRecord(text, id)
	if err != nil {
		return Job{}, err
	}
	if record.nodeList == "" {
		return Job{}, fmt.Errorf("job %s has no nodes: scontrol shows no NodeList for it", id)
	}
	job := Job{
		ID: id, HetLeader: record.het.leader, HetOffset: record.het.offset, State: record.state, Partition: record.partition, Batch: record.batch,
		Started: record.started, Suspended: record.suspended, Restart: record.restarts, GPUs: map[string]int{},
	}
	if job.Nodes, err = hostnames(ctx, record.nodeList); err != nil {
		return Job{}, err
	}
	for _, share := range record.gpus {
		nodes, err := hostnames(ctx, share.nodeList)
		if err != nil {
			return Job{}, err
		}
		for _, node := range nodes {
			job.GPUs[node] = share.gpus
		}
	}
	return job, nil
}

func showJob(ctx context.Context, id string) (string, error) {
	if _, err := strconv.ParseUint(id, 10, 32); err != nil {
		return "", fmt.Errorf("%q is not a job id", id)
	}
	return scontrol(ctx, "--detail", "show", "job", id)
}

// hostnames expands Slurm's bracketed node list.
func hostnames(ctx context.Context, list string) ([]string, error) {
	if !strings.ContainsAny(list, "[,") {
		return []string{list}, nil
	}
	text, err := scontrol(ctx, "show", "hostnames", list)
	return strings.Fields(text), err
}

func scontrol(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "scontrol", args...) //nolint:gosec // fixed words, a number and a node list of Slurm's own
	command.Env = environment()
	command.WaitDelay = time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("scontrol was not found in PATH=%s: %w", os.Getenv("PATH"), err)
	}
	if err != nil {
		return "", fmt.Errorf("scontrol %s: %w: %s", strings.Join(args, " "), err, oneLine(stderr.String()))
	}
	return string(output), nil
}

// environment is what our Slurm commands see. Inherited SLURM_* variables would
// silently change them (SLURM_NTASKS wins over --ntasks-per-node, measured), and
// SLURM_SPANK_* would make the gate call itself.
func environment() []string {
	env := []string{"LANG=C"}
	for _, name := range []string{"PATH", "SLURM_CONF", "HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
