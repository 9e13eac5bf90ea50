package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKillAndStart(t *testing.T) {
	machine(t)
	c := up(t, "--nodes", "3")
	job := c.user("sbatch --parsable -w n2 -o /dev/null --wrap 'sleep 600'")
	require.Eventually(t, func() bool { return c.user("squeue -h -t R -o %N") == "n2\n" }, 10*time.Second, 50*time.Millisecond)
	c.must("kill", "n2")

	require.NotContains(t, c.found().Nodes, "n2")
	require.Regexp(t, `n2 +- .*no power`, c.must("status"))
	r := c.lab("run", "--node", "n2", "--", "true")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "lab start n2")
	require.Equal(t, "n1\nn3\n", c.user("srun -N2 -x n2 hostname | sort"), "the others go on")

	c.must("start", "n2")
	require.Equal(t, "n2\n", c.user("srun -w n2 hostname"), "job %s is gone and the node is back", job)
	require.NotZero(t, c.lab("start", "n2").code, "it has power already")
	require.NotZero(t, c.lab("start", "n9").code)
	require.NotZero(t, c.lab("kill", "login").code)
}

func TestFreezeAndThaw(t *testing.T) {
	machine(t)
	c := up(t, "--nodes", "2")
	const ask = "timeout 1 srun -w n2 hostname"
	c.must("freeze", "n2")
	require.NotZero(t, c.lab("run", "--chdir", "/", "--", "bash", "-c", ask).code)
	require.Equal(t, "n1\n", c.user("srun -w n1 hostname"))
	c.must("thaw", "n2")
	require.Equal(t, "n2\n", c.user("srun -w n2 hostname"))
	c.must("freeze", "n1") // a frozen node must not keep the lab from going
}

func TestTwoLabs(t *testing.T) {
	machine(t)
	a, b := up(t, "--nodes", "2"), up(t, "--nodes", "2")
	a.user("echo a > mark")
	b.user("echo b > mark")
	require.Equal(t, "a\n10.77.0.1 \n", a.user("srun -w n1 bash -c 'cat mark; hostname -I'"))
	require.Equal(t, "b\n10.77.0.1 \n", b.user("srun -w n1 bash -c 'cat mark; hostname -I'"))
	both := lab(t, "status").out
	require.Contains(t, both, a.name)
	require.Contains(t, both, b.name)
	a.down()
	require.Equal(t, "n1\nn2\n", b.user("srun -N2 hostname | sort"))
}

func TestGPUs(t *testing.T) {
	c := up(t, "--nodes", "2", "--gpus", "2")
	require.Equal(t, "/dev/nvidia0 c3 0\n/dev/nvidia1 c3 1\n",
		c.user("srun -w n2 stat -c '%n %t %T' /dev/nvidia0 /dev/nvidia1"))
	require.Equal(t, "0,1\n", c.user("srun -w n2 --gres=gpu:2 bash -c 'echo $CUDA_VISIBLE_DEVICES'"))
	require.NotZero(t, c.lab("run", "--chdir", "/", "--", "srun", "--gres=gpu:3", "true").code)
}

// TestCgroup checks that a job can reach its own GPUs only. No driver stands
// behind the device files, so an allowed one answers ENXIO.
func TestCgroup(t *testing.T) {
	machine(t)
	c := up(t, "--nodes", "2", "--gpus", "2", "--cgroup")
	const open = `srun -N1 -w n2 --gres=gpu:1 bash -c 'for i in 0 1; do : < /dev/nvidia$i; done' 2>&1`
	out := c.user(open + "; true")
	require.Contains(t, out, "/dev/nvidia0: No such device or address")
	require.Contains(t, out, "/dev/nvidia1: Operation not permitted")

	directory := "/sys/fs/cgroup/freezer/preflight-lab-" + c.name + "/n1"
	require.NoError(t, os.WriteFile(directory+"/freezer.state", []byte("FROZEN"), 0o644))
	c.must("kill", "n1") // a frozen process dies only when it has been woken
	require.NoDirExists(t, directory)
	c.must("start", "n1")
	require.DirExists(t, directory)
}

func TestSet(t *testing.T) {
	c := &fixture{t, newName()}
	t.Cleanup(c.down)
	r := c.lab("up", "--nodes", "1", "--set", "a=1", "--set", "b=2", "--optional")
	require.Zero(t, r.code)
	require.Contains(t, r.err, "lib/spank_preflight.so is not built")
	read := func() string { return c.must("run", "--node", "n1", "--", "cat", "/etc/slurm/plugstack.conf") }
	const plugin = " /opt/slurm-preflight/lib/spank_preflight.so"
	require.Equal(t, "# not built: optional"+plugin+" a=1 b=2\n", read())
	c.must("set", "a=", "c=3", "--required")
	require.Equal(t, "# not built: required"+plugin+" b=2 c=3\n", read())
	c.must("set", "b=4")
	require.Equal(t, "# not built: required"+plugin+" b=4 c=3\n", read())
	require.Equal(t, 64, c.lab("set", "word").code)
	require.Equal(t, 64, c.lab("up", "--set", "a=x#y").code)
}

// TestHostIsUntouched looks for what a lab must not do to the machine's files.
func TestHostIsUntouched(t *testing.T) {
	before, err := os.ReadFile("/etc/passwd")
	require.NoError(t, err)
	c := up(t, "--nodes", "1")
	after, err := os.ReadFile("/etc/passwd")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	for _, path := range []string{"/opt/slurm-preflight", "/run/preflight-lab", "/etc/slurm/slurm.conf", "/home/user"} {
		require.NoFileExists(t, path)
		require.NoDirExists(t, path)
		c.must("run", "--root", "--", "test", "-e", path)
	}
}
