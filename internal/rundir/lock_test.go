package rundir_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/rundir"
)

func TestGatesTakeTurns(t *testing.T) {
	dir, err := rundir.Open(t.TempDir(), t.TempDir(), "12", 0)
	require.NoError(t, err)
	release, err := dir.Turn(t.Context(), func() { t.Error("nobody else is there") })
	require.NoError(t, err)

	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	waited := 0
	_, err = dir.Turn(short, func() { waited++ })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, waited, "said once")

	_, err = dir.Turn(t.Context(), release)
	require.NoError(t, err, "the next one comes in when the first leaves")
}

func TestFindMakesNothing(t *testing.T) {
	home, temporary := t.TempDir(), t.TempDir()
	_, err := rundir.Find(home, temporary, "12", 0, "gate.json")
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, place := range []string{home, temporary} {
		entries, err := os.ReadDir(place)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestFindLooksWhereOpenWrites(t *testing.T) {
	home, temporary := t.TempDir(), t.TempDir()
	for attempt, at := range []string{home, "/nope/nobody"} {
		dir, err := rundir.Open(at, temporary, "12", attempt)
		require.NoError(t, err)
		require.NoError(t, dir.Write("gate.json", content(strconv.Itoa(attempt))))
		text, err := rundir.Find(home, temporary, "12", attempt, "gate.json")
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(attempt), string(text))
	}
	_, err := rundir.Find(home, temporary, "../12", 0, "gate.json")
	require.ErrorContains(t, err, "cannot name a directory")
}

func TestFindTrustsNoForeignPlace(t *testing.T) {
	temporary := t.TempDir()
	dir, err := rundir.Open("", temporary, "12", 0)
	require.NoError(t, err)
	require.NoError(t, dir.Write("gate.json", content("forged")))
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(dir.Path("x"))), 0o777))
	_, err = rundir.Find("", temporary, "12", 0, "gate.json")
	require.ErrorContains(t, err, "only its owner can write")
}
