package session

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPending(t *testing.T) {
	require.EqualValues(t, 2, pending("Name:\tx\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000000002\nSigBlk:\t04\n"))
	require.Zero(t, pending("Name:\tx\n"))
	require.Zero(t, pending("ShdPnd:\tzz\n"))
}

func FuzzPending(f *testing.F) {
	f.Add("ShdPnd:\t0000000000004002\n")
	f.Fuzz(func(_ *testing.T, status string) { pending(status) })
}

// TestSaw checks that the bystander keeps what it gets, and tells signals apart.
func TestSaw(t *testing.T) {
	group, err := watchGroup()
	require.NoError(t, err)
	t.Cleanup(group.close)
	require.False(t, group.saw(unix.SIGINT))
	require.NoError(t, group.bystander.Process.Signal(unix.SIGINT))
	require.True(t, group.saw(unix.SIGINT))
	require.False(t, group.saw(unix.SIGTERM))
}

func TestCode(t *testing.T) {
	for command, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -TERM $$": 128 + int(syscall.SIGTERM)} {
		cmd := exec.Command("sh", "-c", command)
		err := cmd.Run()
		got, err := code(cmd.ProcessState, err)
		require.NoError(t, err)
		require.Equal(t, want, got, command)
	}
}
