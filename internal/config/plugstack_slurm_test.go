package config_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

// TestSameLinesAsSlurm lets the installed srun read the same files: the lines
// that it ignores, in its order, are the lines that are reported here.
func TestSameLinesAsSlurm(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"slurm.conf":     "ClusterName=x\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n",
		"plugstack.conf": "# c\nrequires x.so\n\nrequired # no file\n \t# c\noptional\ninclude\nOptional x.so\ninclude d/[!a]*.conf more\ninclude DIR/d/a.conf\ninclude missing*\nlast",
		"d/a.conf":       "from a\r\n\r\n",
		"d/b.conf":       "include ../e.conf\n\nfrom b\n",
		"d/c.conf":       "required\x00 x.so\n",
		"d/.h.conf":      "from h\n",
		"e.conf":         "\"required\" x.so\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	srun := exec.CommandContext(ctx, "srun", "--help")
	srun.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))
	out, err := srun.CombinedOutput()
	require.NoError(t, err, "srun --help: %s", out)
	var slurm, ours []string
	for _, match := range regexp.MustCompile(`spank: (\S+:\d+): Invalid line`).FindAllStringSubmatch(string(out), -1) {
		slurm = append(slurm, filepath.Clean(match[1])) // Slurm leaves the ".." of a relative include
	}
	_, problems := config.FromPlugstack(filepath.Join(dir, "plugstack.conf"))
	for _, p := range problems {
		ours = append(ours, p.Source)
	}
	require.Len(t, slurm, 11)
	require.Equal(t, slurm, ours)
}
