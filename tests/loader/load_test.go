package loader

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A symbol more is a hook more that Slurm calls, or a name that meets one of its own.
func TestExportedSymbols(t *testing.T) {
	require.NoError(t, buildErr)
	for _, library := range []string{front, core} {
		name := filepath.Base(library)
		golden(t, name+".symbols", strings.Join(exported(t, filepath.Join(built, name)), "\n")+"\n")
	}
}

func exported(t *testing.T, path string) []string {
	t.Helper()
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	symbols, err := file.DynamicSymbols()
	require.NoError(t, err)
	var names []string
	for _, symbol := range symbols {
		if symbol.Section != elf.SHN_UNDEF {
			names = append(names, symbol.Name)
		}
	}
	slices.Sort(names)
	return names
}

// golden compares with testdata, or rewrites it with TESTS_UPDATE_GOLDEN=1.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("TESTS_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// A job without our options pays for one small library: no Go, no thread, no
// process, and its environment stays as it was.
func TestWithoutOptionsNothingHappens(t *testing.T) {
	for _, test := range []struct {
		where string
		hooks []string
	}{
		{"local", []string{"init", "local_user_init"}},
		{"allocator", []string{"init"}},
		{"slurmd", []string{"init"}},
		{"remote", []string{"init", "user_init", "task_init"}},
	} {
		t.Run(test.where, func(t *testing.T) {
			h := install(t)
			steps := append([]string{"step=batch", "env=B=2", "env=A=1 = one", "env=SLURM_SPANK_OTHER=x", "load"}, test.hooks...)
			out := h.run(t, test.where, append(steps, "environment", "report")...)
			require.Empty(t, out.stderr)
			require.Zero(t, out.code)
			for _, hook := range test.hooks {
				require.True(t, out.has(hook+" 0"), "%s in %q", hook, out.lines)
			}
			require.True(t, out.has("core absent"))
			require.Equal(t, "1", out.value(t, "Threads:"))
			require.Equal(t, []string{"B=2", "A=1 = one", "SLURM_SPANK_OTHER=x"}, environment(out))
			require.False(t, h.started())
		})
	}
}

func environment(out outcome) []string {
	var vars []string
	for _, line := range out.lines {
		if variable, found := strings.CutPrefix(line, "env "); found {
			vars = append(vars, variable)
		}
	}
	return vars
}

// Slurm refuses a plugin whose major.minor is not its own, so packages for
// another release declare that one.
func TestDeclaredSlurmVersion(t *testing.T) {
	require.NoError(t, buildErr)
	dir := t.TempDir()
	for version, number := range map[string]string{"25.11.5": "0x190b05", "24.05.8": "0x180508", "20.08.10": "0x14080a"} {
		out, err := exec.Command("make", "-s", "-C", "../../spank", "OUT="+dir, "SLURM_VERSION="+version, "front").CombinedOutput()
		require.NoError(t, err, "%s", out)
		loaded := finish(t, exec.Command(filepath.Join(built, "loader"), "context=slurmd", "load="+filepath.Join(dir, "spank_preflight.so")))
		require.Equal(t, fmt.Sprintf("load preflight spank %s", number), loaded.lines[0])
	}
	for _, version := range []string{"25.11", "v25.11.5", "25.11.5-1"} {
		out, err := exec.Command("make", "-s", "-C", "../../spank", "OUT="+dir, "SLURM_VERSION="+version, "front").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "SLURM_VERSION="+version+" is not of the form 25.11.5")
	}
}
