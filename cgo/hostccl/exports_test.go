package hostccl_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The library offers what is implemented, and none of the C++ in it.
func TestExports(t *testing.T) {
	output, err := exec.Command("nm", "-D", "--defined-only", "--format=just-symbols", library).Output()
	require.NoError(t, err)
	const golden = "testdata/exports.golden"
	if os.Getenv("TESTS_UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, output, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(string(output), "\n"))
}
