package fault

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/report"
)

// UserCode is what a job prints that gets past its gate.
const UserCode = "user code ran"

// Job is a batch job with a gate.
type Job struct {
	Lab
	ID string
}

// Submit hands a job with a gate on all nodes to sbatch. Its batch host is n1.
func (l Lab) Submit(spec string, flags ...string) Job {
	l.t.Helper()
	script := filepath.Join(l.dir, "job.sh")
	require.NoError(l.t, os.WriteFile(script, []byte("#!/bin/bash\necho "+UserCode+"\n"), 0o755))
	args := []string{"sbatch", "--parsable", "-N4", "--output", l.dir + "/out", "--open-mode=append", "--chdir", l.dir}
	args = append(append(args, flags...), "--nccl-validate="+spec+",report="+l.dir+"/gate.json", script)
	out, code := l.Run(args...)
	require.Zero(l.t, code, out)
	return Job{l, strings.TrimSpace(out)}
}

// Show is what scontrol knows of the job.
func (j Job) Show(key string) string {
	j.t.Helper()
	out, code := j.Run("scontrol", "show", "job", j.ID)
	require.Zero(j.t, code, out)
	for field := range strings.FieldsSeq(out) {
		if value, ok := strings.CutPrefix(field, key+"="); ok {
			return value
		}
	}
	return ""
}

// Output is what the job has printed.
func (j Job) Output() string {
	text, err := os.ReadFile(j.dir + "/out")
	if err != nil {
		return ""
	}
	return string(text)
}

// Report is the gate's report, if it has left one.
func (j Job) Report() (gate report.Gate, written bool) {
	text, err := os.ReadFile(j.dir + "/gate.json")
	if err != nil {
		return report.Gate{}, false
	}
	require.NoError(j.t, json.Unmarshal(text, &gate))
	return gate, true
}
