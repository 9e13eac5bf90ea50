// Package loader drives the SPANK plugin as Slurm does, without a Slurm: a C
// program (host/loader.c) loads it, offers it the functions it expects from its
// host, and calls its hooks in the processes where Slurm would. What the plugin
// starts is a program that writes down how it was started (host/preflight.c).
package loader

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// built has loader, preflight, spank_preflight.so and libpreflight.so, where buildErr is nil.
var (
	built    string
	buildErr error
)

func TestMain(m *testing.M) {
	built, buildErr = os.MkdirTemp("", "preflight-loader-")
	if buildErr == nil {
		defer func() { _ = os.RemoveAll(built) }()
		buildErr = build(built)
	}
	m.Run()
}

func build(dir string) error {
	strict := []string{"-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror"}
	for _, command := range [][]string{
		{"make", "-s", "-C", "../../spank", "OUT=" + dir, "front", "core"},
		append([]string{"cc", "-rdynamic", "-o", filepath.Join(dir, "loader"), "host/loader.c", "host/host.c"}, strict...),
		append([]string{"cc", "-o", filepath.Join(dir, "preflight"), "host/preflight.c"}, strict...),
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%q: %w\n%s", command, err, out)
		}
	}
	return nil
}
