package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/gate"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
	"slurm-preflight/internal/rundir"
)

const gateHelp = `Measure the nodes of the job that this command runs in, now, and print the verdict.

SPEC is what --nccl-validate takes: a comma list of collectives (allreduce,
allgather, reducescatter, alltoall, broadcast, reduce, sendrecv) and settings,
such as allreduce,alltoall,min=400,size=1M:1G. Without it, allreduce is measured.

Exit codes: 0 the nodes are fit (or nobody said what fit is), 75 they are not,
69 the gate could not measure, 64 a bad SPEC, 130 and 143 cancelled.`

func newGate() *cobra.Command {
	run := gateRun{spec: string(collectives.AllReduce)}
	var plugstack string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gate [flags] [SPEC]",
		Short: "Measure this job's nodes",
		Long:  gateHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				run.spec = args[0]
			}
			run.site, run.problems = config.FromPlugstack(plugstack)
			run.out = cmd.OutOrStdout()
			if asJSON {
				run.json, run.out = cmd.OutOrStdout(), cmd.ErrOrStderr()
			}
			return run.gate(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&plugstack, "plugstack", defaultPlugstack(), "the plugstack.conf to read")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON, and the table to standard error")
	return cmd
}

// gateRun is one run of the gate from the command line or a hook.
type gateRun struct {
	spec     string
	site     []config.Layer
	problems []config.Problem
	// consequence says what happens to the job after this verdict and exit code.
	consequence func(job string, verdict report.Verdict, exit int) string
	// once spares a measurement that the same attempt of the job has passed already.
	once bool
	out  io.Writer // where the table goes
	json io.Writer // where the report goes too; nil for nowhere
}

// gate measures, tells the user, and returns the exit code as an error.
func (r gateRun) gate(ctx context.Context) error {
	request, problems, err := r.request()
	if err != nil {
		return usage(err)
	}
	if request.Spec.Off {
		return nil
	}
	if request.JobID == "" {
		return usage(errors.New("SLURM_JOB_ID is not set: run this inside a job, such as the shell of salloc"))
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	if r.once {
		request.Recorded = recorded
	}
	result, measured := request.Run(ctx)
	if !measured {
		return result.WriteLine(r.out, "Measured before in this job, not again."+r.end(result))
	}
	for _, problem := range problems {
		result.Notes = append(result.Notes, "ignored: "+problem.String())
	}
	if err := r.tell(result, request.Spec.Report); err != nil {
		return err
	}
	if result.Exit != exitcode.Fit {
		return exitError{code: result.Exit}
	}
	return nil
}

func (r gateRun) request() (gate.Request, []config.Problem, error) {
	spec, err := collectives.ParseSpec(r.spec)
	if err != nil {
		return gate.Request{}, nil, err
	}
	cfg, problems, err := config.Load(r.site, spec.Layer())
	if err != nil {
		return gate.Request{}, nil, err
	}
	home, err := programHome()
	return gate.Request{
		JobID: os.Getenv("SLURM_JOB_ID"), SpecText: r.spec, Spec: spec, Config: cfg, Home: home, Log: slog.Default(),
	}, slices.Concat(r.problems, problems), err
}

// programHome is the directory above the one that holds this program: its bin
// and lib hold all others, wherever it was installed.
func programHome() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find this program's own directory: %w", err)
	}
	return filepath.Dir(filepath.Dir(self)), nil
}

// untilSignal ends the context on the signals by which a user or Slurm cancels a job.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if s := <-signals; s == syscall.SIGINT {
			cancel(gate.Cancelled(exitcode.Interrupted))
		}
		cancel(gate.Cancelled(exitcode.Terminated))
	}()
	return ctx, func() { signal.Stop(signals) }
}

// recorded finds the report of a gate that this attempt of the job has passed.
func recorded(now report.Gate) (report.Gate, bool) {
	dir, err := directory(now)
	if err != nil {
		return report.Gate{}, false
	}
	text, err := dir.Read(reportName)
	if err != nil {
		return report.Gate{}, false
	}
	var old report.Gate
	if json.Unmarshal(text, &old) != nil || !old.Answers(now) {
		return report.Gate{}, false
	}
	return old, true
}

const reportName = "gate.json"

func directory(g report.Gate) (rundir.Dir, error) {
	return rundir.Open(os.Getenv("HOME"), os.TempDir(), g.Job, g.Attempt)
}

// tell writes the report, then the table that says where it is, then one line for the administrator.
func (r gateRun) tell(result report.Gate, extra string) error {
	place := r.write(&result, extra)
	if err := result.WriteTable(r.out, strings.TrimSpace(r.end(result)+place)); err != nil {
		return exitError{exitcode.Unavailable, err}
	}
	if logger, err := syslog.New(syslog.LOG_USER|syslog.LOG_NOTICE, "preflight"); err == nil {
		_ = logger.Notice(fmt.Sprintf("job %s: %s", result.Job, result.Headline())) // a node without a syslog has no reader either
		_ = logger.Close()
	}
	if r.json != nil {
		return result.WriteJSON(r.json)
	}
	return nil
}

// end says what happens to the job now.
func (r gateRun) end(result report.Gate) string {
	if r.consequence == nil {
		return ""
	}
	return " " + r.consequence(result.Job, result.Verdict, result.Exit)
}

// write leaves gate.json behind and says where. A report that cannot be written
// changes no verdict.
func (r gateRun) write(result *report.Gate, extra string) string {
	dir, err := directory(*result)
	if err == nil {
		err = dir.Write(reportName, result.WriteJSON)
	}
	if err != nil {
		result.Notes = append(result.Notes, "the report could not be kept: "+err.Error())
	}
	place := ""
	if err == nil {
		place = " Report: " + dir.Path(reportName)
	}
	if extra != "" {
		if err := rundir.WriteFile(extra, result.WriteJSON); err != nil {
			result.Notes = append(result.Notes, "report="+extra+" could not be written: "+err.Error())
			return place
		}
		place = " Report: " + extra
	}
	return place
}
