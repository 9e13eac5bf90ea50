package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trace prints what a process inherits: limits, mask, signals, identity,
// descriptors, directory, process group, session, priority, terminal.
const trace = `cd "$PWD"; pwd -P
cat /proc/self/limits /proc/self/oom_score_adj /proc/self/coredump_filter /proc/self/timerslack_ns /proc/self/cgroup
grep -E '^(Umask|Uid|Gid|Groups|SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt|Cap|NoNewPrivs|Seccomp)' /proc/self/status
ls -l /proc/self/fd | awk 'NR > 1 { print $1, $9, $10, $11 }'
awk '{ print ($5 == $1), ($6 == $1), $18, $19, $41 }' /proc/$$/stat
tty; stty -a`

// Numbers that differ from one process to the next.
var own = regexp.MustCompile(`\[\d+\]|/proc/\d+|/dev/pts/\d+|/preflight-e2e-\d+|job_\d+`)

// traced leaves out the gate's own lines, and what script types at the end of its input.
func traced(text string) string {
	text = headline.ReplaceAllString(strings.NewReplacer("\r", "", "^@", "").Replace(text), "")
	text = regexp.MustCompile(`(?m)^(preflight: |  ).*\n|^\n`).ReplaceAllString(text, "")
	return own.ReplaceAllString(text, "N")
}

// The gate leaves no trace in the user's processes.
func TestProgramInheritsWhatItAlwaysDid(t *testing.T) {
	l := startLab(t, "--nodes", "2")
	sandwich := "umask 027; ulimit -n 512; ulimit -c 0; ulimit -s 4096; trap '' HUP USR1; cd /tmp; "
	both := map[string]func(flags ...string) string{
		"batch": func(flags ...string) string {
			_, exit, output := l.submit(trace, append([]string{"-N2"}, flags...)...).await()
			require.Equal(t, "1:0", exit, "stty has no terminal: %s", output)
			return output
		},
		"step of a batch job": func(flags ...string) string {
			_, exit, output := l.submit("srun -n1 bash -c '"+strings.ReplaceAll(trace, "'", `'\''`)+"; true'", append([]string{"-N2"}, flags...)...).await()
			require.Equal(t, "0:0", exit, output)
			return output
		},
		"srun": func(flags ...string) string {
			r := l.run("bash", "-c", sandwich+"exec srun -N2 -n1 "+strings.Join(flags, " ")+` bash -c "$0; true"`, trace)
			require.Zero(t, r.code, r.err)
			return r.out
		},
		"terminal": func(flags ...string) string {
			command := sandwich + "stty -echo intr ^X rows 33; srun -N2 -n1 " + strings.Join(flags, " ") + ` --pty bash -c "$TRACE; true"; stty -a`
			r := l.start(strings.NewReader(""), "env", "TRACE="+trace, "script", "--quiet", "--return", "--command", command, "/dev/null")()
			require.Zero(t, r.code, r.out)
			require.Contains(t, r.out, "rows 33")
			return r.out
		},
	}
	for name, run := range both {
		t.Run(name, func(t *testing.T) {
			without := traced(run())
			require.Contains(t, without, "Max open files")
			require.Contains(t, without, "SigBlk")
			require.Equal(t, without, traced(run(quick)))
		})
	}
}
