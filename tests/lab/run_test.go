package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUpRunDown(t *testing.T) {
	machine(t)
	c := up(t)

	t.Run("nodes are idle", func(t *testing.T) {
		require.Equal(t, "n1 idle\nn2 idle\nn3 idle\nn4 idle\n", c.user("sinfo -h -N -o '%N %T'"))
	})
	t.Run("hosts have their own names and addresses", func(t *testing.T) {
		out := c.user(`srun -N4 bash -c 'echo $(hostname) $(hostname -I) $(ls /sys/class/net)' | sort; hostname`)
		require.Equal(t, "n1 10.77.0.1 eth0 lo\nn2 10.77.0.2 eth0 lo\nn3 10.77.0.3 eth0 lo\nn4 10.77.0.4 eth0 lo\nlogin\n", out)
	})
	t.Run("homes are shared", func(t *testing.T) {
		require.Equal(t, "n2\n", c.user("srun -w n2 bash -c 'hostname > here'; cat here"))
	})
	t.Run("batch jobs run", func(t *testing.T) {
		out := c.user("sbatch -W -o out -N4 --wrap 'srun id -un' >&2; cat out; scontrol show job -o | grep -c JobState=COMPLETED")
		require.Contains(t, out, strings.Repeat("user\n", 4))
	})
	t.Run("the build tree is there and read-only", func(t *testing.T) {
		require.Contains(t, c.user("command -v lab; lab --help; ls /opt/slurm-preflight/lib"), "/opt/slurm-preflight/bin/lab\nA real")
		require.NotZero(t, c.lab("run", "--root", "--", "touch", "/opt/slurm-preflight/x").code)
	})
	t.Run("nodes have just booted", func(t *testing.T) {
		times := regexp.MustCompile(`BootTime=(\S+) SlurmdStartTime=(\S+)`).FindStringSubmatch(c.user("scontrol -o show node n1"))
		require.Len(t, times, 3)
		booted, err := time.Parse("2006-01-02T15:04:05", times[1])
		require.NoError(t, err)
		started, err := time.Parse("2006-01-02T15:04:05", times[2])
		require.NoError(t, err)
		require.WithinDuration(t, started, booted, 5*time.Second)
	})
	t.Run("status and logs", func(t *testing.T) {
		require.Regexp(t, `n3 +\d+ +10.77.0.3 +1gbit +idle`, c.must("status"))
		require.Contains(t, c.must("logs", "n2"), "slurmd started")
		require.Contains(t, c.must("logs", "slurmctld"), "slurmctld version")
		require.Contains(t, c.must("logs"), "== n4: slurmd.log ==")
		require.NotZero(t, c.lab("logs", "../login").code)
	})
	t.Run("a second one of that name is refused", func(t *testing.T) {
		r := c.lab("up")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.err, "is up already")
	})
}

func TestRunExits(t *testing.T) {
	c := up(t, "--nodes", "1")
	for name, want := range map[string]struct {
		argv []string
		code int
	}{
		"success":        {[]string{"--", "true"}, 0},
		"failure":        {[]string{"--", "sh", "-c", "exit 7"}, 7},
		"255":            {[]string{"--", "sh", "-c", "exit 255"}, 255},
		"TERM":           {[]string{"--", "sh", "-c", "kill -TERM $$"}, 143},
		"KILL":           {[]string{"--", "sh", "-c", "kill -KILL $$"}, 137},
		"not found":      {[]string{"--", "no-such-program"}, 127},
		"no such path":   {[]string{"--", "/no/such/program"}, 127},
		"not executable": {[]string{"--", "/etc/passwd"}, 126},
		"no such user":   {[]string{"--user", "nobody-here", "--", "true"}, 126},
		"no such node":   {[]string{"--node", "n2", "--", "true"}, 1},
		"no command":     {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.lab("run", want.argv...)
			require.Equal(t, want.code, r.code, r.err)
		})
	}
}

func TestRunAs(t *testing.T) {
	c := up(t, "--nodes", "1")
	const who = "id -un; id -u; id -G; pwd; echo $HOME"
	for name, want := range map[string]struct {
		argv []string
		out  string
	}{
		"user":  {nil, "user\n20001\n20001\n/tmp\n/home/user\n"},
		"other": {[]string{"--user", "other"}, "other\n20002\n20002\n/tmp\n/home/other\n"},
		"root":  {[]string{"--root"}, "root\n0\n0\n/tmp\n/root\n"},
		"node":  {[]string{"--node", "n1"}, "user\n20001\n20001\n/tmp\n/home/user\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want.out, c.must("run", append(want.argv, "--chdir", "/tmp", "--", "sh", "-c", who)...))
		})
	}
	require.Equal(t, "n1\n", c.must("run", "--node", "n1", "--", "hostname"))
}

func TestRunLeaksNoEnvironment(t *testing.T) {
	c := up(t, "--nodes", "1")
	t.Setenv("SLURM_JOB_ID", "12")
	t.Setenv("SECRET", "x")
	t.Setenv("LANG", "C.UTF-8")
	var names []string
	for line := range strings.Lines(c.must("run", "--", "/usr/bin/env")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	require.Subset(t, []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL"}, names)
	require.Subset(t, names, []string{"PATH", "HOME", "USER", "LANG"})
}

func TestRunDirectory(t *testing.T) {
	c := up(t, "--nodes", "1")
	open := t.TempDir()
	require.NoError(t, os.Chmod(open, 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(open), 0o755))
	closed := filepath.Join(open, "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))

	t.Run("an open one is the caller's own", func(t *testing.T) {
		t.Chdir(open)
		r := c.lab("run", "--", "sh", "-c", "pwd; echo x > made")
		require.Equal(t, result{open + "\n", "", 0}, r)
		require.FileExists(t, filepath.Join(open, "made"))
	})
	t.Run("a closed one is replaced by the home", func(t *testing.T) {
		t.Chdir(closed)
		r := c.lab("run", "--", "pwd")
		require.Equal(t, "/home/user\n", r.out)
		require.Contains(t, r.err, "user cannot work in "+closed)
		require.Equal(t, closed+"\n", c.must("run", "--root", "--", "pwd"))
	})
	t.Run("a demanded one is not replaced", func(t *testing.T) {
		for _, dir := range []string{closed, "/no/such/directory", "/run"} { // that of the lab is another
			r := c.lab("run", "--chdir", dir, "--", "pwd")
			require.Equal(t, 126, r.code)
			require.Empty(t, r.out)
			require.Contains(t, r.err, dir)
		}
	})
}
