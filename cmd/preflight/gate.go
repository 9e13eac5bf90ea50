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
such as allreduce,alltoall,min=400,size=1M:1G. Without it, what the site's
gate.default says is measured, or allreduce. Conditions and gate.enforce do not
count here.

Exit codes: 0 the nodes are fit (or nobody said what fit is), 75 they are not,
69 the gate could not measure, 64 a bad SPEC, 130 and 143 cancelled.`

func newGate() *cobra.Command {
	var run gateRun
	var plugstack func(context.Context) string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gate [flags] [SPEC]",
		Short: "Measure this job's nodes",
		Long:  gateHelp,
		Args:  cobra.MaximumNArgs(1),

		ValidArgsFunction: completeSpec,
		RunE: func(cmd *cobra.Command, args []string) error {
			site, err := collectives.NewSite(config.FromPlugstack(plugstack(cmd.Context())))
			if err != nil {
				return err
			}
			demand, err := byHand(site, args)
			if err != nil {
				return usage(err)
			}
			run.demand, run.problems = demand, site.Problems
			run.out = cmd.OutOrStdout()
			if asJSON {
				run.json, run.out = cmd.OutOrStdout(), cmd.ErrOrStderr()
			}
			return run.gate(cmd.Context())
		},
	}
	plugstack = plugstackFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON, and the table to standard error")
	return cmd
}

// byHand is the demand of somebody who wants to know, whatever the site demands of jobs.
func byHand(site collectives.Site, args []string) (collectives.Demand, error) {
	switch {
	case len(args) > 0:
		return site.Asked(args[0])
	case site.HasDefault():
		return site.Asked(site.Config.Gate.Default.Spec)
	default:
		return site.Asked(string(collectives.AllReduce))
	}
}

// gateRun is one run of the gate from the command line or a hook.
type gateRun struct {
	demand   collectives.Demand
	problems []config.Problem // of the site's configuration
	// consequence says what happens to the job after this verdict and exit code.
	consequence func(job string, verdict report.Verdict, exit int) string
	// once spares a measurement that the same attempt of the job has passed already.
	once bool
	out  io.Writer // where the table goes
	json io.Writer // where the report goes too; nil for nowhere
}

// gate measures, tells the user, and returns the exit code as an error.
func (r gateRun) gate(ctx context.Context) error {
	if len(r.demand.Spec.Ops) == 0 {
		return nil
	}
	request, err := r.request()
	if err != nil {
		return err
	}
	if request.JobID == "" {
		return usage(errors.New("SLURM_JOB_ID is not set: run this inside a job, such as the shell of salloc"))
	}
	ctx, stop := untilSignal(ctx)
	defer stop()
	result, measured := request.Run(ctx)
	if !measured {
		return r.remember(result)
	}
	result.Notes = append(result.Notes, r.demand.Notes...)
	for _, problem := range r.problems {
		result.Notes = append(result.Notes, "ignored: "+problem.String())
	}
	if err := r.tell(result, r.demand.Spec.Report); err != nil {
		return err
	}
	if result.Exit != exitcode.Fit {
		return exitError{code: result.Exit}
	}
	return nil
}

// remember is all that is said where an earlier gate answers: nothing to those who never asked.
func (r gateRun) remember(result report.Gate) error {
	if !r.demand.Asked {
		return nil
	}
	return result.WriteLine(r.out, "Measured before in this job, not again."+r.end(result))
}

func (r gateRun) request() (gate.Request, error) {
	home, err := programHome()
	request := gate.Request{
		JobID: os.Getenv("SLURM_JOB_ID"), SpecText: r.demand.Text, Spec: r.demand.Spec, Config: r.demand.Config,
		Asked: r.demand.Asked, Home: home, Log: slog.Default(),
	}
	if r.once {
		request.Recorded = r.recorded
	}
	return request, err
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
// A user may ask for a second look at nodes that failed; the site asks once.
func (r gateRun) recorded(now report.Gate) (report.Gate, bool) {
	dir, err := directory(now)
	if err != nil {
		return report.Gate{}, false
	}
	text, err := dir.Read(reportName)
	if err != nil {
		return report.Gate{}, false
	}
	var old report.Gate
	if json.Unmarshal(text, &old) != nil {
		return report.Gate{}, false
	}
	return old, old.Answers(now) || !r.demand.Asked && old.LetThrough(now)
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
	logLines(logged(result.Job, result.Headline(), r.problems))
	if r.json != nil {
		return result.WriteJSON(r.json)
	}
	return nil
}

// logged is what the administrator's log gets of a job: its verdict, and what is wrong in the site's configuration.
func logged(job, headline string, problems []config.Problem) []string {
	all := []string{fmt.Sprintf("job %s: %s", job, headline)}
	for _, problem := range problems {
		all = append(all, fmt.Sprintf("job %s: ignored: %s", job, problem))
	}
	return all
}

// logLines writes to syslog. A node without one has no reader either.
func logLines(lines []string) {
	logger, err := syslog.New(syslog.LOG_USER|syslog.LOG_NOTICE, "preflight")
	if err != nil {
		return
	}
	for _, line := range lines {
		_ = logger.Notice(line)
	}
	_ = logger.Close()
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
