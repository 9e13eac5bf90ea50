// Command preflight-worker is the gate on one node. Slurm starts it as a step
// beside the user's own, one per node; it supervises one process per rank, which
// is this program again with the word "rank".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/supervisor"
	"slurm-preflight/internal/exitcode"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	run := supervise
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "rank" {
		run, args = serveRank, args[1:]
	}
	if err := run(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "preflight-worker:", err)
		os.Exit(exitcode.Unavailable)
	}
}

// options are the same for the supervisor and its ranks.
type options struct {
	nonce, backend, library, networkInterface string
	makesID                                   bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("preflight-worker", flag.ContinueOnError)
	flags.StringVar(&o.nonce, "nonce", "", "signs the frames of this gate")
	flags.StringVar(&o.backend, "backend", "", "host")
	flags.StringVar(&o.library, "library", "", "path of the collective library")
	flags.StringVar(&o.networkInterface, "interface", "", "network interfaces, as NCCL_SOCKET_IFNAME names them")
	flags.BoolVar(&o.makesID, "makes-id", false, "this rank makes the unique id")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.backend != "host":
		return o, fmt.Errorf("backend %q is unknown: this version has host", o.backend)
	case o.library == "":
		return o, errors.New("--library is missing: it names the collective library")
	default:
		return o, nil
	}
}

// supervise runs the node's share of a gate; preflight gate starts it.
func supervise(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.nonce == "" || len(o.nonce) > protocol.MaxName {
		return errors.New("--nonce is missing or too long: this program is started by preflight gate, not by hand")
	}
	node, err := place()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	slog.SetLogLoggerLevel(slog.LevelWarn)
	command := supervisor.Command{Path: self, Env: rankEnvironment(o), Args: func(rank int) []string {
		args := []string{"rank", "--backend=" + o.backend, "--library=" + o.library}
		if node.ID == 0 && rank == 0 {
			args = append(args, "--makes-id")
		}
		return args
	}}
	return supervisor.Run(ctx, node, os.Stdin, os.Stdout, o.nonce, command.Start)
}

// place reads from Slurm's environment which node of which step this is.
func place() (supervisor.Node, error) {
	id, err := strconv.Atoi(os.Getenv("SLURM_NODEID"))
	name := os.Getenv("SLURMD_NODENAME")
	if err != nil || name == "" || len(name) > protocol.MaxName {
		return supervisor.Node{}, errors.New("SLURM_NODEID and SLURMD_NODENAME are not set: this program runs as a Slurm step, started by preflight gate")
	}
	step := os.Getenv("SLURM_JOB_ID") + "." + os.Getenv("SLURM_STEP_ID")
	return supervisor.Node{Name: name, ID: id, Step: step, Ranks: 1}, nil
}

// rankEnvironment is what the collective library sees. Nothing of the job's own
// settings: the gate measures the nodes, not the user's NCCL_* variables.
func rankEnvironment(o options) []string {
	// The library's own time limit is as long as it can be: a rank has better
	// ones, which know how long an operation may take and when the job was suspended.
	env := []string{"PATH=/usr/bin:/bin", "HOSTCCL_TIMEOUT=86400"}
	if o.networkInterface != "" {
		env = append(env, "NCCL_SOCKET_IFNAME="+o.networkInterface)
	}
	return env
}
