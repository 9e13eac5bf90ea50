package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// site writes a site's files, puts SLURM_CONF there and returns the directory.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	for name, text := range files {
		text = strings.ReplaceAll(text, "DIR", dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestConfig(t *testing.T) {
	const yaml = "gate:\n  min:\n    allreduce: 0.08\n  size: 1M\n"
	good := map[string]string{
		"plugstack.conf": "include preflight.conf\n",
		"preflight.conf": "# ours\nrequired /usr/lib/spank_preflight.so config=DIR/site.yaml gate.size=4M gate.on_fail=warn\n",
		"site.yaml":      yaml,
	}
	bad := map[string]string{
		"plugstack.conf": "requierd /x.so\nrequired spank_preflight.so config=DIR/site.yaml gate.sise=4M gate.iters=0 gate.default=alreduce\n",
		"site.yaml":      yaml + "  backend: nccl\n",
	}
	tests := map[string]struct {
		files  map[string]string
		wide   bool // a column is as wide as the temporary directory's name
		args   []string
		stderr string
		code   int
	}{
		"layers":    {files: good, wide: true},
		"json":      {files: good, args: []string{"--json"}},
		"problems":  {files: bad, wide: true, code: 78, stderr: "preflight: 5 problems in the configuration\n"},
		"no-file":   {},
		"no-line":   {files: map[string]string{"plugstack.conf": "# nothing\n"}},
		"no-args":   {files: good, args: []string{"--"}},
		"arguments": {files: good, args: []string{"--json", "--", "gate.size=2M", "gate"}, code: 78, stderr: "preflight: 1 problem in the configuration\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := site(t, test.files)
			stdout, stderr, code := preflight(t, append([]string{"config"}, test.args...)...)
			require.Equal(t, test.stderr, stderr)
			require.Equal(t, test.code, code)
			page := strings.ReplaceAll(stdout, dir, "DIR")
			if test.wide {
				page = regexp.MustCompile(`(\S) {2,}`).ReplaceAllString(page, "$1  ")
			}
			requireGolden(t, "config-"+name+".golden", page)
			if len(test.args) > 0 && test.args[0] == "--json" {
				require.True(t, json.Valid([]byte(stdout)))
			}
		})
	}
}
