package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quick is a gate that takes no time and that every network here passes;
// strict is one that none passes.
const (
	quick  = option + ",size=1M,iters=2,min=0.001"
	strict = option + ",size=1M,iters=2,min=900"
)

// crowded is a lab where memory and GPUs are given out too, so that a job may hold all there is.
func crowded(t *testing.T) lab {
	t.Helper()
	return startLab(t, "--gpus", "2", "--conf", "SelectTypeParameters=CR_Core_Memory")
}

// headline is the line that ends a gate's table.
var headline = regexp.MustCompile(`(?m)^preflight: (PASS|FAIL|NOT JUDGED|NOT TESTABLE|ERROR|CANCELLED)  .*$`)

// verdicts lists those that a text shows, in order.
func verdicts(text string) []string {
	var words []string
	for _, found := range headline.FindAllStringSubmatch(text, -1) {
		words = append(words, found[1])
	}
	return words
}

// starts are options of sbatch and srun alike, and the nodes that the gate must find.
var starts = map[string]struct {
	flags []string
	nodes int
	say   string // more of the option
}{
	"one node":             {flags: []string{"-N1"}, nodes: 1},
	"one rank":             {flags: []string{"-n1", "-N1", "-c1"}, nodes: 1},
	"fewer tasks":          {flags: []string{"-N4", "-n2"}, nodes: 2},
	"exclusive":            {flags: []string{"-N2", "--exclusive"}, nodes: 2, say: ",backend=host"},
	"all the memory":       {flags: []string{"-N2", "--mem=2000"}, nodes: 2},
	"memory per CPU":       {flags: []string{"-N2", "--mem-per-cpu=500"}, nodes: 2},
	"all CPUs of one task": {flags: []string{"-N2", "-n2", "--cpus-per-task=4"}, nodes: 2},
	"overcommit":           {flags: []string{"-N2", "-n12", "--overcommit"}, nodes: 2},
	"tasks per node":       {flags: []string{"-N3", "--ntasks-per-node=2"}, nodes: 3},
	"these nodes":          {flags: []string{"-w", "n2,n4"}, nodes: 2},
	"not those nodes":      {flags: []string{"-N2", "-x", "n1,n2"}, nodes: 2},
	"GPUs":                 {flags: []string{"-N2", "--gres=gpu:2"}, nodes: 2, say: ",backend=host"},
	"GPUs per task":        {flags: []string{"-N2", "-n4", "--gpus-per-task=1"}, nodes: 2, say: ",backend=host"},
}

func TestEveryStartOfSrun(t *testing.T) {
	l := crowded(t)
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			l := lab{t: t, name: l.name}
			with := l.run(append(append([]string{"srun"}, start.flags...), quick+start.say, "hostname")...)
			require.Zero(t, with.code, with.err)
			gated(t, with.err, start.nodes)
			without := l.run(append(append([]string{"srun"}, start.flags...), "hostname")...)
			require.Len(t, strings.Fields(with.out), len(strings.Fields(without.out)), "as many tasks as without the option")
		})
	}
	l.idle(5 * time.Second)
}

func gated(t *testing.T, text string, nodes int) {
	t.Helper()
	if nodes == 1 {
		require.Equal(t, []string{"NOT TESTABLE"}, verdicts(text), text)
		require.NotContains(t, text, "GB/s", "one rank has no bandwidth")
		return
	}
	require.Equal(t, []string{"PASS"}, verdicts(text), text)
	require.Contains(t, text, fmt.Sprintf("allreduce on %d nodes", nodes))
}

func TestEveryStartOfSbatch(t *testing.T) {
	l := crowded(t)
	jobs := map[string]job{}
	for name, start := range starts {
		jobs[name] = l.submit("echo user code; srun true", append(start.flags, quick+start.say)...)
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			j := jobs[name]
			j.t = t
			_, exit, output := j.await()
			require.Equal(t, "0:0", exit, output)
			gated(t, output, start.nodes)
			require.Contains(t, output, "user code\n")
		})
	}
	l.idle(5 * time.Second)
}

// What --export takes from the script, it must not take from the gate.
func TestExportIsNoneOfTheGate(t *testing.T) {
	l := startLab(t)
	variables := l.submit("true").output + ".env"
	require.NoError(t, os.WriteFile(variables, []byte("GIVEN=file\x00PATH=/usr/bin:/bin\x00"), 0o644))
	jobs := map[string]job{}
	for flag, given := range map[string]string{
		"--export=NONE": "", "--export=GIVEN=list": "list", "--export=ALL,GIVEN=all": "all", "--export-file=" + variables: "file",
	} {
		jobs[given] = l.submit("echo GIVEN=$GIVEN.", "-N2", flag, quick)
	}
	for given, j := range jobs {
		_, exit, output := j.await()
		require.Equal(t, "0:0", exit, output)
		gated(t, output, 2)
		require.Contains(t, output, "GIVEN="+given+".\n")
	}
}

func TestOptionInsideTheScriptAndWithoutOne(t *testing.T) {
	l := startLab(t)
	inside := l.submit("#SBATCH -N2 " + quick + "\necho user code")
	directory := strings.TrimSuffix(inside.output, "/out")
	r := l.run("sbatch", "--parsable", "-N2", "--output", directory+"/wrap", quick, "--wrap", "echo user code")
	require.Zero(t, r.code, r.err)
	wrapped := inside.beside(strings.TrimSpace(r.out), "wrap")
	input := l.start(strings.NewReader("#!/bin/sh\necho user code\n"), "sbatch", "--parsable", "-N2", "--output", directory+"/input", quick)()
	require.Zero(t, input.code, input.err)
	fed := inside.beside(strings.TrimSpace(input.out), "input")
	for _, j := range []job{inside, wrapped, fed} {
		_, exit, output := j.await()
		require.Equal(t, "0:0", exit, output)
		gated(t, output, 2)
		require.True(t, strings.HasSuffix(output, "user code\n"), output)
	}
}

// The user's streams are srun's, and the gate keeps its hands off them.
func TestStreamsOfSrun(t *testing.T) {
	l := startLab(t)
	text := strings.Repeat("one line of many\n", 5000)
	r := l.start(strings.NewReader(text), "srun", "-N2", "-n1", quick, "cat")()
	require.Zero(t, r.code, r.err)
	require.Equal(t, text, r.out, "the gate ate some of the program's input")

	scratch := strings.TrimSuffix(l.submit("true").output, "/out")
	require.NoError(t, os.WriteFile(scratch+"/in", []byte("of a file\n"), 0o644))
	require.NoError(t, os.WriteFile(scratch+"/programs", []byte("0 echo zero\n1 echo one\n"), 0o644))
	r = l.run("srun", "-N2", "-n2", "--label", "--quiet", quick, "--input", scratch+"/in", "cat")
	require.Zero(t, r.code, r.err)
	require.ElementsMatch(t, []string{"0: of a file", "1: of a file"}, strings.Split(strings.TrimSpace(r.out), "\n"))
	gated(t, r.err, 2)
	r = l.run("srun", "-N2", "-n2", quick, "--output", scratch+"/out-%t", "--multi-prog", scratch+"/programs")
	require.Zero(t, r.code, r.err)
	require.Empty(t, r.out)
	for task, want := range []string{"zero\n", "one\n"} {
		got, err := os.ReadFile(fmt.Sprintf("%s/out-%d", scratch, task))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "the program's output, and nothing else")
	}
}
