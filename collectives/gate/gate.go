// Package gate runs one gate for one job: it asks Slurm what the job has, plans
// what to measure, lets the conductor measure it, and turns the verdict into
// what happens to the job.
package gate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"slurm-preflight/collectives"
	"slurm-preflight/collectives/conductor"
	"slurm-preflight/internal/config"
	"slurm-preflight/internal/exitcode"
	"slurm-preflight/internal/report"
	"slurm-preflight/internal/slurm"
)

// Request is what to gate, and by which settings.
type Request struct {
	JobID string
	// SpecText is the user's option as written; Spec is the same, parsed.
	SpecText string
	Spec     collectives.Spec
	Config   config.Config
	// Asked says that the user asked for the gate, and not the site alone.
	Asked bool
	// Home is the directory whose bin and lib hold our programs, the same on all nodes.
	Home string
	// Enter is called once it is known which attempt of which job is gated. It may wait, and
	// may answer with an earlier report of the same gate on the same attempt; nil for never.
	Enter func(ctx context.Context, now report.Gate) (report.Gate, bool)
	Log   *slog.Logger
}

// Run measures the job's nodes, unless an earlier report answers. Every outcome is in the report.
func (r Request) Run(ctx context.Context) (result report.Gate, measured bool) {
	gate := report.Gate{Job: r.JobID, Spec: r.SpecText}
	job, err := slurm.ShowJob(ctx, r.JobID)
	if err == nil {
		gate.Attempt, gate.Started, gate.Nodes, gate.Component = job.Restart, job.Started, job.Nodes, job.Component()
		if r.Enter != nil {
			if old, ok := r.Enter(ctx, gate); ok {
				return old, false
			}
		}
		gate.Backend, err = r.backend(job)
	}
	switch {
	case ctx.Err() != nil:
		gate.Verdict, gate.Reason = report.Cancelled, "the gate was cancelled"
	case err != nil:
		gate.Verdict, gate.Reason = report.Error, err.Error()
	default:
		r.measure(ctx, job, &gate)
	}
	r.settle(ctx, &gate)
	return gate, true
}

// backend picks what to measure with. auto never falls from GPUs to host
// memory, since that would call a node healthy whose GPUs nobody looked at.
func (r Request) backend(job slurm.Job) (string, error) {
	if r.Config.Gate.Backend == config.BackendAuto && len(job.GPUs) > 0 {
		return "", errors.New("the job has GPUs, and this version measures over host memory only: " +
			"ask for it with backend=host, which tests the network and not the GPUs")
	}
	return string(config.BackendHost), nil
}

func (r Request) measure(ctx context.Context, job slurm.Job, gate *report.Gate) {
	nonce := rand.Text()
	settings := r.Config.Gate
	plan := conductor.Plan{
		Nodes: job.Nodes, Ops: r.Spec.Ops,
		Warmup: settings.Warmup, Iters: settings.Iters, Time: settings.Time, Timeout: settings.Timeout,
		Floor: r.floor, Suspended: (&suspension{job: job, log: r.Log}).ended,
	}
	for _, size := range settings.Size.List() {
		plan.Sizes = append(plan.Sizes, int64(size))
	}
	step := slurm.Step{Job: job, Command: r.worker(nonce)}
	conductor.Run(ctx, plan, gate, nonce, r.Log, func() (conductor.Step, error) { return step.Launch() })
	failed := gate.Verdict == report.Fail || gate.Verdict == report.Error
	if failed && r.ended(ctx, gate) {
		return
	}
	if gate.Verdict == report.Error && gate.Library.Path == "" {
		gate.Notes = append(gate.Notes, fmt.Sprintf("every node needs %s and %s; gate.worker= and gate.host_lib= in plugstack.conf name other places",
			r.workerPath(), r.libraryPath()))
	}
}

// ended finds out whether a gate was cut short because Slurm ended its job.
// srun is not told of a scancel before its own step is launched (measured), so
// all that the conductor sees is a step that breaks.
func (r Request) ended(ctx context.Context, gate *report.Gate) bool {
	job, err := slurm.ShowJob(ctx, r.JobID)
	if err != nil || job.State == "RUNNING" || job.State == "SUSPENDED" {
		return false
	}
	gate.Verdict, gate.Suspects = report.Cancelled, nil
	gate.Reason = "Slurm ended the job during the gate: it is " + job.State
	return true
}

func (r Request) floor(op collectives.Op) (collectives.GBps, string) {
	floor, _ := r.Config.Gate.Min.Of(string(op))
	if floor == 0 {
		return 0, ""
	}
	return floor, r.Config.Source(collectives.FloorKey(op))
}

func (r Request) worker(nonce string) []string {
	command := []string{r.workerPath(), "--nonce=" + nonce, "--backend=host", "--library=" + r.libraryPath()}
	if r.Config.Gate.Interface != "" {
		command = append(command, "--interface="+r.Config.Gate.Interface)
	}
	return command
}

func (r Request) workerPath() string {
	if r.Config.Gate.Worker != "" {
		return r.Config.Gate.Worker
	}
	return filepath.Join(r.Home, "bin", "preflight-worker")
}

func (r Request) libraryPath() string {
	if r.Config.Gate.HostLib != "" {
		return r.Config.Gate.HostLib
	}
	return filepath.Join(r.Home, "lib", "libhostccl.so")
}

// settle gives the verdict its exit code and, where figures do not say it, its reason.
func (r Request) settle(ctx context.Context, gate *report.Gate) {
	switch gate.Verdict {
	case report.Pass:
	case report.Unjudged:
		gate.Reason = unjudged(gate.Results)
	case report.Untestable:
		gate.Reason = "one rank alone moves nothing over a network"
	case report.Fail:
		gate.Exit = exitcode.Unfit
		if r.Config.Gate.OnFail == config.OnFailWarn {
			gate.Exit = exitcode.Fit
		}
	case report.Error:
		gate.Exit = exitcode.Unavailable
		if r.runsUnmeasured() {
			gate.Exit = exitcode.Fit
		}
	case report.Cancelled:
		gate.Exit = exitcode.Terminated
		if cancelled, ok := errors.AsType[Cancelled](context.Cause(ctx)); ok {
			gate.Exit = int(cancelled)
		}
	}
}

// runsUnmeasured says whether a job runs that could not be measured: a promise
// to its user would be broken, but a job whose user asked for nothing is not stopped.
func (r Request) runsUnmeasured() bool {
	if r.Config.Gate.OnError == config.OnErrorAuto {
		return !r.Asked
	}
	return r.Config.Gate.OnError == config.OnErrorRun
}

// unjudged names the collectives that have no floor, where others have one.
func unjudged(results []report.Result) string {
	var without []string
	judged := false
	for _, result := range results {
		switch {
		case result.Swept:
		case result.FloorGBps > 0:
			judged = true
		default:
			without = append(without, result.Op)
		}
	}
	of := ""
	if judged {
		of = " for " + strings.Join(without, ", ")
	}
	return "no floor is set" + of + ": gate.min.<collective>= or min= would set one"
}

// Cancelled is the cause of a cancelled context: the exit code that its signal stands for.
type Cancelled int

// Error names the exit code.
func (c Cancelled) Error() string { return fmt.Sprintf("cancelled, exit code %d", int(c)) }
