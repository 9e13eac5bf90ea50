package slurm

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseConfig(t *testing.T) {
	for text, want := range map[string][2]string{
		"PluginDir               = /usr/lib/slurm\nPlugStackConfig         = /etc/plug.conf\nSlurmctldPlugstack      = x\nSLURM_CONF              = /etc/slurm/slurm.conf\n": {"/etc/plug.conf", "/etc/slurm/slurm.conf"},
		"PlugStackConfig         = (null)\n": {},
		"":                                   {},
	} {
		plugstack, conf := parseConfig(text)
		require.Equal(t, want, [2]string{plugstack, conf})
	}
}

func TestBeside(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there", "slurm.conf"), filepath.Join(dir, "missing", "slurm.conf")
	require.NoError(t, os.Mkdir(filepath.Dir(there), 0o700))
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	require.Equal(t, filepath.Join(dir, "missing/plugstack.conf"), beside(missing, there), "what the environment names is meant")
	require.Equal(t, filepath.Join(dir, "there/plugstack.conf"), beside("", missing, there))
	require.Equal(t, "/etc/slurm/plugstack.conf", beside("", missing))
}

// Without a Slurm that answers there is still a file to look at.
func TestPlugstackWithoutSlurm(t *testing.T) {
	t.Setenv("SLURM_CONF", filepath.Join(t.TempDir(), "slurm.conf"))
	want := filepath.Join(filepath.Dir(os.Getenv("SLURM_CONF")), "plugstack.conf")
	began := time.Now()
	require.Equal(t, want, Plugstack(t.Context()))
	require.Less(t, time.Since(began), configTimeout)
	require.NoError(t, os.WriteFile(os.Getenv("SLURM_CONF"), nil, 0o600))
	t.Setenv("PATH", "")
	require.Equal(t, want, Plugstack(t.Context()))
	require.Equal(t, want, PlugstackBesideConf())
}

func FuzzParseConfig(f *testing.F) {
	f.Add("PlugStackConfig         = /etc/plug.conf\nSLURM_CONF = /etc/slurm/slurm.conf\n")
	f.Fuzz(func(t *testing.T, text string) {
		plugstack, conf := parseConfig(text)
		require.NotContains(t, plugstack+conf, "\n")
	})
}
