package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
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
		"version, JSON":   {args: []string{"version", "--json"}, stdout: "{\n  \"schema\": \"preflight.version/1\",\n  \"version\": \"0.1.0\"\n}\n"},
		"near command":    {args: []string{"confg"}, code: 64, stderr: "preflight: unknown command \"confg\": did you mean \"config\"?\n"},
		"no such command": {args: []string{"x\x1b"}, code: 64, stderr: "preflight: unknown command \"x\\x1b\"; `preflight help` lists the commands\n"},
		"no such flag":    {args: []string{"config", "--jsn"}, code: 64, stderr: "preflight: unknown flag: --jsn; `preflight config --help` lists the flags\n"},
		"argument":        {args: []string{"version", "1"}, code: 64, stderr: "preflight: preflight version takes no argument \"1\"\n"},

		"good option": {args: []string{"validate", "--nccl-validate=allreduce,min=0.08"}},
		"option off":  {args: []string{"validate", "--nccl-validate=off"}},
		"bad option":  {args: []string{"validate", "--nccl-validate=allreduce,iters=0"}, code: 64, stderr: "preflight: \"iters=0\": expected a whole number from 1 to 10000\n"},
		"good option, JSON": {
			args:   []string{"validate", "--json", "--nccl-validate=allreduce"},
			stdout: "{\n  \"schema\": \"preflight.validate/1\",\n  \"option\": \"--nccl-validate=allreduce\",\n  \"good\": true\n}\n",
		},
		"bad option, JSON": {
			args: []string{"validate", "--json", "--nccl-validate=off,<x>", "--", "gate.size=1M"}, code: 64,
			stdout: "{\n  \"schema\": \"preflight.validate/1\",\n  \"option\": \"--nccl-validate=off,<x>\",\n  \"good\": false,\n" +
				"  \"reason\": \"unknown collective or setting \\\"<x>\\\"; KNOWN\"\n}\n",
			stderr: "preflight: unknown collective or setting \"<x>\"; KNOWN\n",
		},
		"enforced": {
			args: []string{"validate", "--nccl-validate=off", "--", "gate.default=allreduce", "gate.enforce=yes"}, code: 64,
			stderr: "preflight: \"off\" is refused: this site enforces its gate (gate.enforce at plugstack.conf arguments)\n",
		},

		"complete":         {args: []string{"__complete", "gate", "allreduce,on-fail=w"}, stdout: "allreduce,on-fail=warn\n:6\n", stderr: "Completion ended with directive: ShellCompDirectiveNoSpace, ShellCompDirectiveNoFileComp\n"},
		"complete no more": {args: []string{"__complete", "gate", "allreduce", ""}, stdout: ":4\n", stderr: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"},
		"completion, typo": {args: []string{"completion", "bsh"}, code: 64, stderr: "preflight: unknown command \"bsh\": did you mean \"bash\"?\n"},
		"empty option":     {args: []string{"validate", "--nccl-validate="}, code: 64, stderr: "preflight: --nccl-validate is empty: name a collective, such as allreduce, or off\n"},
		"no option":        {args: []string{"validate"}, code: 64, stderr: "preflight: nothing to validate: give --nccl-validate=SPEC\n"},
		"two places":       {args: []string{"config", "--plugstack", "x", "--", "y"}, code: 64, stderr: "preflight: --plugstack and ARGS exclude each other\n"},
		"no such file":     {args: []string{"config", "--plugstack", "/nonexistent"}, code: 78, stderr: "preflight: stat /nonexistent: no such file or directory\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := preflight(t, test.args...)
			known := regexp.MustCompile(`known: [-=, \w]+`)
			require.Equal(t, test.stderr, known.ReplaceAllString(stderr, "KNOWN"))
			require.Equal(t, test.stdout, known.ReplaceAllString(stdout, "KNOWN"))
			require.Equal(t, test.code, code)
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	for shell, word := range map[string]string{"bash": "complete ", "zsh": "#compdef preflight", "fish": "complete -c preflight"} {
		stdout, stderr, code := preflight(t, "completion", shell)
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.Contains(t, stdout, word)
	}
	stdout, _, _ := preflight(t, "completion", "--help")
	require.NotContains(t, stdout, "powershell")
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
