package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

func TestBegin(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "no number") // an error for whoever looks at the job
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	tests := map[string]struct {
		args   []string
		code   int
		stderr string // a part; empty for silence
	}{
		"nothing to do":         {args: []string{"--start=batch"}},
		"a site without a gate": {args: []string{"--start=srun", "--", "gate.size=1M", "gate.enforce=yes"}},
		"a default of off":      {args: []string{"--start=batch", "--", "gate.default=off"}},
		"the user opts out":     {args: []string{"--start=batch", "--nccl-validate=off", "--", "gate.default=allreduce"}},
		"a broken default":      {args: []string{"--start=batch", "--", "gate.default=alreduce"}},
		"no start":              {args: nil, code: 64, stderr: "--start must be batch or srun"},
		"a bad option":          {args: []string{"--start=batch", "--nccl-validate=alreduce"}, code: 64, stderr: `did you mean "allreduce"?`},
		"asked":                 {args: []string{"--start=batch", "--nccl-validate=allreduce"}, code: 69, stderr: "Job no number stops with exit code 69."},
		"not asked":             {args: []string{"--start=srun", "--", "gate.default=allreduce"}, stderr: "srun runs all the same."},
		"not asked, strict": {
			args: []string{"--start=srun", "--", "gate.default=allreduce", "gate.on_error=fail"}, code: 69, stderr: "srun stops with exit code 69.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := preflight(t, append([]string{"begin"}, test.args...)...)
			require.Equal(t, test.code, code, stderr)
			require.Empty(t, stdout, "the user's output is the user's")
			require.Contains(t, stderr, test.stderr)
			if test.stderr == "" {
				require.Empty(t, stderr)
			}
		})
	}
}

func TestAdministratorsLog(t *testing.T) {
	problems := []config.Problem{
		{Source: "/etc/slurm/plugstack.conf:3", Key: "gate.sise", Value: "1M\n", Reason: "unknown key, did you mean gate.size?"},
		{Source: "/etc/slurm/plugstack.conf:3", Reason: "expected key=value"},
	}
	require.Equal(t, []string{
		"job 12: PASS  allreduce 0.117 GB/s.",
		`job 12: ignored: /etc/slurm/plugstack.conf:3: "gate.sise=1M\n": unknown key, did you mean gate.size?`,
		"job 12: ignored: /etc/slurm/plugstack.conf:3: expected key=value",
	}, logged("12", "PASS  allreduce 0.117 GB/s.", problems))
}
