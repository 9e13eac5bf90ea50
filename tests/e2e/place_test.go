package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const product = "/opt/slurm-preflight"

// pluginDirs is where Slurm looks for a plugin that is named without a
// directory: its own, and ours, which stands for a link in there.
func pluginDirs(t *testing.T) string {
	t.Helper()
	dirs, err := filepath.Glob("/usr/lib/*/slurm-wlm")
	require.NoError(t, err)
	require.Len(t, dirs, 1)
	return "PluginDir=" + dirs[0] + ":" + product + "/lib"
}

// write replaces a file of the lab's /etc, which all its hosts share.
func (l lab) write(path, text string) {
	l.t.Helper()
	r := l.root("", "sh", "-c", `printf %s "$1" > "$0"`, path, text)
	require.Zero(l.t, r.code, r.err)
}

func TestPluginNamedWithoutADirectory(t *testing.T) {
	l := startLab(t, "--conf", pluginDirs(t))
	l.write("/etc/slurm/plugstack.conf", "required spank_preflight.so gate.min.allreduce=5\n")
	_, exit, output := l.submit(userCode, "-N2", option).await()
	require.Equal(t, "75:0", exit, output)
	require.Contains(t, output, "floor 5.000 GB/s")
	r := l.run("srun", "-N2", option, "echo", "user code")
	require.Equal(t, 75, r.code, r.err)
	require.NotZero(t, l.run("sbatch", "--nccl-validate=alreduce", "--wrap", "true").code)
	r = l.run("preflight", "config")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `gate\.min\.allreduce +5 +/etc/slurm/plugstack\.conf:1`, r.out)
	l.idle(5 * time.Second)
}

// slurm.conf may name another plugstack.conf; what is read by hand is what Slurm reads.
func TestPlugstackConfigElsewhere(t *testing.T) {
	l := startLab(t, "--conf", "PlugStackConfig=/etc/slurm/other.conf")
	l.write("/etc/slurm/other.conf", "# ours\noptional "+product+"/lib/spank_preflight.so gate.min.allreduce=5\n")
	_, exit, output := l.submit(userCode, "-N2", option).await()
	require.Equal(t, "75:0", exit, output)
	r := l.run("env", "-u", "SLURM_CONF", "preflight", "config")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `gate\.min\.allreduce +5 +/etc/slurm/other\.conf:2`, r.out)
	r = l.run("salloc", "-N2", "preflight", "gate")
	require.Equal(t, 75, r.code, r.err)
}

// A configless node has no /etc/slurm: its slurmd keeps a copy of what slurmctld sent.
func TestConfiglessNode(t *testing.T) {
	l := startLab(t, "--nodes", "2", "--conf", "SlurmctldParameters=enable_configless", "--set", siteGates, "--set", easy)
	r := l.root("n1", "sh", "-c", "kill $(cat /run/slurmd.pid) && mount -t tmpfs none /etc/slurm && slurmd -N n1 --conf-server login:6817")
	require.Zero(t, r.code, r.err)
	l.eventually(10*time.Second, func() bool {
		return l.states() == "idle" && l.root("n1", "test", "-e", "/run/slurm/conf/plugstack.conf").code == 0
	}, "the configless node does not come up")
	_, exit, output := l.submit(userCode, "-N2", "-w", "n1,n2").await()
	require.Equal(t, "7:0", exit, output)
	require.Contains(t, output, "PASS  allreduce")
	r = l.root("n1", "env", "-u", "SLURM_CONF", "preflight", "config")
	require.Zero(t, r.code, r.err)
	require.Regexp(t, `gate\.default +allreduce +/run/slurm/conf/plugstack\.conf:1`, r.out)
}
