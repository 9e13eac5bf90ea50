package main

import (
	"context"
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
	"time"

	"github.com/spf13/cobra"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/gate"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
	"slurm-preflight/internal/rundir"
	"slurm-preflight/internal/slurm"
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
	// retells prints the verdict of the attempt before a requeue.
	retells bool
	out     io.Writer // where the table goes
	json    io.Writer // where the report goes too; nil for nowhere
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
	jobs, err := slurm.Components(ctx, request.JobID)
	if err != nil {
		jobs = []string{request.JobID} // the gate meets the same error and reports it
	}
	var decisive report.Gate
	for i, id := range jobs {
		request.JobID = id
		decisive, err = r.component(ctx, request, decisive, i == len(jobs)-1)
		if err != nil || decisive.Verdict == report.Cancelled {
			break
		}
	}
	if err == nil && decisive.Exit != exitcode.Fit {
		return exitError{code: decisive.Exit}
	}
	return err
}

// component gates one component of a heterogeneous job, or a plain job, which
// is its own last component. It returns the report that decides so far.
func (r gateRun) component(ctx context.Context, request gate.Request, decisive report.Gate, last bool) (report.Gate, error) {
	here := attempt{
		out: r.out, once: r.once, asked: r.demand.Asked, retells: r.retells, limit: request.Config.Gate.Timeout + time.Minute,
	}
	defer here.leave()
	request.Enter = here.enter
	result, measured := request.Run(ctx)
	if decisive.Verdict == "" || gravity(result) > gravity(decisive) {
		decisive = result
	}
	end := ""
	if last || result.Verdict == report.Cancelled {
		end = r.end(decisive)
	}
	if result.Component != "" {
		end = " Component " + result.Component + "." + end
	}
	if !measured {
		r.remember(result, end)
		return decisive, nil
	}
	result.Notes = append(append(result.Notes, here.notes...), r.demand.Notes...)
	for _, problem := range r.problems {
		result.Notes = append(result.Notes, "ignored: "+problem.String())
	}
	return decisive, r.tell(result, end, reportFile(r.demand.Spec.Report, result.Component))
}

// gravity orders reports by how much each decides about the whole job.
func gravity(result report.Gate) int {
	switch {
	case result.Verdict == report.Cancelled:
		return 3
	case result.Exit != exitcode.Fit:
		return 2
	case result.Verdict == report.Fail || result.Verdict == report.Error:
		return 1
	default:
		return 0
	}
}

// reportFile is where report=FILE goes: for each later component of a
// heterogeneous job, a file of its own.
func reportFile(path, component string) string {
	_, offset, _ := strings.Cut(component, "+")
	if path == "" || offset == "" || offset == "0" {
		return path
	}
	return path + "." + offset
}

// remember is all that is said where an earlier gate answers: nothing to those who never asked.
func (r gateRun) remember(result report.Gate, end string) {
	if r.demand.Asked {
		_ = result.WriteLine(r.out, "Measured before in this job, not again."+end) // as in tell
	}
}

func (r gateRun) request() (gate.Request, error) {
	home, err := programHome()
	return gate.Request{
		JobID: os.Getenv("SLURM_JOB_ID"), SpecText: r.demand.Text, Spec: r.demand.Spec, Config: r.demand.Config,
		Asked: r.demand.Asked, Home: home, Log: slog.Default(),
	}, err
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

// untilSignal ends the context on the signals by which a user or Slurm cancels
// a job. SIGPIPE cancels nothing: a reader of the output that has gone, such as
// head, does not judge the nodes.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		if s := <-signals; s == syscall.SIGINT {
			cancel(gate.Cancelled(exitcode.Interrupted))
		}
		cancel(gate.Cancelled(exitcode.Terminated))
	}()
	return ctx, func() { signal.Stop(signals); signal.Stop(pipe) }
}

// tell writes the report, then the table that says where it is, then one line for the administrator.
func (r gateRun) tell(result report.Gate, end, extra string) error {
	place := r.write(&result, extra)
	_ = result.WriteTable(r.out, strings.TrimSpace(end+place)) // an output that is full or gone changes no verdict
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
	job, _, _ := strings.Cut(result.Component, "+")
	if job == "" {
		job = result.Job
	}
	return " " + r.consequence(job, result.Verdict, result.Exit)
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
