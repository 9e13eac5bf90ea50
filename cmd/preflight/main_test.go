package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// preflight runs a command line and returns what it printed and its exit code.
func preflight(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return out.String(), err.String(), code
}

// requireGolden compares with testdata/NAME, or writes it where TESTS_UPDATE_GOLDEN=1.
func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("TESTS_UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestCommandLine(t *testing.T) {
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"version":         {args: []string{"version"}, stdout: "preflight 0.1.0\n"},
		"version flag":    {args: []string{"--version"}, stdout: "preflight 0.1.0\n"},
		"near command":    {args: []string{"confg"}, code: 64, stderr: "preflight: unknown command \"confg\": did you mean \"config\"?\n"},
		"no such command": {args: []string{"x\x1b"}, code: 64, stderr: "preflight: unknown command \"x\\x1b\"; `preflight help` lists the commands\n"},
		"no such flag":    {args: []string{"config", "--jsn"}, code: 64, stderr: "preflight: unknown flag: --jsn; `preflight config --help` lists the flags\n"},
		"argument":        {args: []string{"version", "1"}, code: 64, stderr: "preflight: preflight version takes no argument \"1\"\n"},

		"good option":  {args: []string{"validate", "--nccl-validate=allreduce,min=0.08"}},
		"option off":   {args: []string{"validate", "--nccl-validate=off"}},
		"bad option":   {args: []string{"validate", "--nccl-validate=allreduce,iters=0"}, code: 64, stderr: "preflight: \"iters=0\": expected a whole number from 1 to 10000\n"},
		"empty option": {args: []string{"validate", "--nccl-validate="}, code: 64, stderr: "preflight: --nccl-validate is empty: name a collective, such as allreduce, or off\n"},
		"no option":    {args: []string{"validate"}, code: 64, stderr: "preflight: nothing to validate: give --nccl-validate=SPEC\n"},
		"two places":   {args: []string{"config", "--plugstack", "x", "--", "y"}, code: 64, stderr: "preflight: --plugstack and ARGS exclude each other\n"},
		"no such file": {args: []string{"config", "--plugstack", "/nonexistent"}, code: 78, stderr: "preflight: stat /nonexistent: no such file or directory\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := preflight(t, test.args...)
			require.Equal(t, test.stderr, stderr)
			require.Equal(t, test.stdout, stdout)
			require.Equal(t, test.code, code)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Setenv("SLURM_CONF", "")
	for _, command := range []string{"", "config", "version"} {
		stdout, stderr, code := preflight(t, strings.Fields(command+" --help")...)
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.NotContains(t, stdout, "nccl-validate", "validate is for the plugin alone")
		if command != "" { // the list of all commands grows with each of them
			requireGolden(t, "help-"+command+".golden", stdout)
		}
	}
}
