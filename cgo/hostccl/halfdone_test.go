package hostccl_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An error on a Gloo pair wakes neither a half-written send nor a half-read
// receive; this library's own wake-up must.
func TestInterruptWakesHalfDoneTransfers(t *testing.T) {
	program := filepath.Join(filepath.Dir(library), "..", "bin", "half-done")
	for _, direction := range []string{"send", "receive"} {
		t.Run(direction, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			output, err := exec.CommandContext(ctx, program, direction).Output()
			require.NoError(t, err)
			milliseconds, err := strconv.Atoi(strings.TrimSpace(string(output)))
			require.NoError(t, err)
			require.Less(t, milliseconds, 1000)
		})
	}
}
