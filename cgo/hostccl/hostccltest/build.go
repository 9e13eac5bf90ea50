// Package hostccltest builds libhostccl.so for tests.
package hostccltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build makes libhostccl.so from the sources in dir, in a directory of its
// own, and returns its path and a function that removes it.
func Build(dir string) (library string, remove func(), err error) {
	root, err := os.MkdirTemp("", "hostccl-")
	if err != nil {
		return "", nil, fmt.Errorf("building libhostccl.so: %w", err)
	}
	remove = func() { _ = os.RemoveAll(root) }
	out := filepath.Join(root, "lib")
	// Fast to compile: these tests measure no bandwidth.
	command := exec.Command("make", "--no-print-directory", "-j2", "-C", dir, "OUT="+out, "CXXFLAGS=-O0 -g1")
	if text, err := command.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("building libhostccl.so: %w\n%s", err, text)
	}
	return filepath.Join(out, "libhostccl.so"), remove, nil
}
