// Package hostccltest builds libhostccl.so for tests.
package hostccltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes libhostccl.so, and further targets of its Makefile, from the
// sources in dir, in a directory of its own. It returns the library's path
// and a function that removes the directory.
func Build(dir string, targets ...string) (library string, remove func(), err error) {
	root, err := os.MkdirTemp("", "hostccl-")
	if err != nil {
		return "", nil, fmt.Errorf("building libhostccl.so: %w", err)
	}
	remove = func() { _ = os.RemoveAll(root) }
	out := filepath.Join(root, "lib")
	// Fast to compile: these tests measure no bandwidth.
	arguments := append([]string{"--no-print-directory", "-j2", "-C", dir, "OUT=" + out, "CXXFLAGS=-O0 -g1", "all"}, targets...)
	command := exec.Command("make", arguments...)
	if text, err := command.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("building libhostccl.so: %w\n%s", err, text)
	}
	return filepath.Join(out, "libhostccl.so"), remove, nil
}
