package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole product lives in one home, so that the plugin finds its library and
// the programs find each other from wherever they are linked.
func TestInstall(t *testing.T) {
	stage := t.TempDir()
	places := []string{"DESTDIR=" + stage, "PREFIX=/opt/site", "SLURM_LIBDIR=/opt/slurm/lib"}

	command(t, "make", append([]string{"install"}, places...)...)
	require.Equal(t, []string{
		"opt/site/bin/preflight -> /opt/site/lib/slurm-preflight/bin/preflight",
		"opt/site/lib/slurm-preflight/bin/preflight -rwxr-xr-x",
		"opt/site/lib/slurm-preflight/bin/preflight-worker -rwxr-xr-x",
		"opt/site/lib/slurm-preflight/lib/libhostccl.so -rw-r--r--",
		"opt/site/lib/slurm-preflight/lib/libpreflight.so -rw-r--r--",
		"opt/site/lib/slurm-preflight/lib/spank_preflight.so -rw-r--r--",
		"opt/site/share/man/man1/preflight-gate.1 -rw-r--r--",
		"opt/site/share/man/man1/preflight.1 -rw-r--r--",
		"opt/site/share/man/man5/preflight.conf.5 -rw-r--r--",
		"opt/slurm/lib/spank_preflight.so -> /opt/site/lib/slurm-preflight/lib/spank_preflight.so",
	}, installed(t, stage))

	command(t, "make", append([]string{"uninstall"}, places...)...)
	require.Empty(t, installed(t, stage))
}

// installed lists the files below a directory with their modes, and the links with their targets.
func installed(t *testing.T, stage string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(stage, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(stage, path)
		require.NoError(t, err)
		if target, err := os.Readlink(path); err == nil {
			found = append(found, name+" -> "+target)
			return nil
		}
		info, err := entry.Info()
		require.NoError(t, err)
		found = append(found, name+" "+info.Mode().String())
		return nil
	}))
	slices.Sort(found)
	return found
}
