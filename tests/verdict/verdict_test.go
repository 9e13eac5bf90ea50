package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	passing = `{"Action":"start","Package":"slurm-preflight/a"}
{"Action":"run","Package":"slurm-preflight/a","Test":"TestOne"}
{"Action":"output","Package":"slurm-preflight/a","Test":"TestOne","Output":"--- PASS: TestOne (0.00s)\n"}
{"Action":"pass","Package":"slurm-preflight/a","Test":"TestOne","Elapsed":0}
{"Action":"pass","Package":"slurm-preflight/a","Elapsed":1.25}
`
	failing = `{"Action":"run","Package":"slurm-preflight/b","Test":"TestTwo"}
{"Action":"output","Package":"slurm-preflight/b","Test":"TestTwo","Output":"    two_test.go:7: want 1, got 2\n"}
{"Action":"fail","Package":"slurm-preflight/b","Test":"TestTwo","Elapsed":0}
{"Action":"fail","Package":"slurm-preflight/b","Elapsed":0.1}
`
	skipping = `{"Action":"run","Package":"slurm-preflight/c","Test":"TestThree/sub"}
{"Action":"output","Package":"slurm-preflight/c","Test":"TestThree/sub","Output":"    no GPU here\n"}
{"Action":"skip","Package":"slurm-preflight/c","Test":"TestThree/sub","Elapsed":0}
{"Action":"pass","Package":"slurm-preflight/c","Elapsed":0.1}
`
	panicking = `{"Action":"run","Package":"slurm-preflight/d","Test":"TestFour"}
{"Action":"output","Package":"slurm-preflight/d","Test":"TestFour","Output":"panic: boom\n"}
{"Action":"fail","Package":"slurm-preflight/d","Elapsed":0.1}
`
	broken = `{"ImportPath":"slurm-preflight/e","Action":"build-output","Output":"e.go:3: undefined: x\n"}
{"ImportPath":"slurm-preflight/e","Action":"build-fail"}
{"Action":"output","Package":"slurm-preflight/e","Output":"FAIL\tslurm-preflight/e [build failed]\n"}
{"Action":"fail","Package":"slurm-preflight/e","FailedBuild":"slurm-preflight/e"}
`
	testless = `{"Action":"output","Package":"slurm-preflight/f","Output":"?   \tslurm-preflight/f\t[no test files]\n"}
{"Action":"skip","Package":"slurm-preflight/f","Elapsed":0}
`
	cut = `{"Action":"run","Package":"slurm-preflight/g","Test":"TestSeven"}
`
)

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name, stream, skips string
		ok                  bool
		says                []string
		last                string
	}{
		{name: "a passing test", stream: passing + testless, ok: true, says: []string{"ok   a  1 tests, 1.2 s"}, last: "1 passed, 0 failed, 0 skipped"},
		{name: "a failing test", stream: passing + failing, says: []string{"FAIL b TestTwo", "want 1, got 2"}, last: "1 passed, 1 failed, 0 skipped"},
		{name: "a skip without leave", stream: passing + skipping, says: []string{"no GPU here", "c TestThree/sub skipped itself"}, last: "1 passed, 0 failed, 1 skipped"},
		{name: "a skip with leave", stream: passing + skipping, skips: "# why\n\nc TestThree needs a GPU\n", ok: true, says: []string{"skip c TestThree/sub: needs a GPU"}, last: "1 passed, 0 failed, 1 skipped"},
		{name: "leave for another test", stream: passing + skipping, skips: "c TestTh needs a GPU\n", last: "1 passed, 0 failed, 1 skipped"},
		{name: "a panic", stream: passing + panicking, says: []string{"FAIL d TestFour", "panic: boom"}, last: "1 passed, 1 failed, 0 skipped"},
		{name: "a package that does not build", stream: passing + broken, says: []string{"undefined: x", "FAIL e\n", "[build failed]"}, last: "1 passed, 1 failed, 0 skipped"},
		{name: "a stream that was cut", stream: passing + cut, says: []string{"FAIL g TestSeven", "the stream ended before"}, last: "1 passed, 1 failed, 0 skipped"},
		{name: "nothing to test", stream: testless, says: []string{"no test ran"}, last: "0 passed, 0 failed, 0 skipped"},
		{name: "only skips", stream: skipping, skips: "c TestThree needs a GPU\n", last: "0 passed, 0 failed, 1 skipped"},
		{name: "no event", stream: "go: cannot find main module\n" + passing, ok: true, says: []string{"go: cannot find main module\n"}, last: "1 passed, 0 failed, 0 skipped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := judge(strings.NewReader(test.stream), &out, writeSkips(t, test.skips))
			require.NoError(t, err)
			require.Equal(t, test.ok, ok, out.String())
			for _, text := range test.says {
				require.Contains(t, out.String(), text)
			}
			require.True(t, strings.HasSuffix(out.String(), "\n"+test.last+"\n") || out.String() == test.last+"\n", out.String())
		})
	}
}

func TestSkipListNeedsReasons(t *testing.T) {
	_, err := readSkips(writeSkips(t, "collectives TestX\n"))
	require.ErrorContains(t, err, ":1: \"collectives TestX\" is not `package TestName reason`")
}

// The list names tests by hand, so a renamed test would leave a dead line behind.
func TestSkipListNamesRealTests(t *testing.T) {
	skips, err := readSkips("../skips.txt")
	require.NoError(t, err)
	for key := range skips {
		pkg, test, _ := strings.Cut(key, " ")
		require.True(t, declares(t, filepath.Join("../..", pkg), test), "skips.txt names %s %s, which does not exist", pkg, test)
	}
}

func declares(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}

func writeSkips(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "skips.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
