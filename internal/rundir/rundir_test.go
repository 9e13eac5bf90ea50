package rundir_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/rundir"
)

func content(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

func TestReportStaysWithItsAttempt(t *testing.T) {
	home := t.TempDir()
	first, err := rundir.Open(home, t.TempDir(), "12", 0)
	require.NoError(t, err)
	require.NoError(t, first.Write("gate.json", content("one")))
	second, err := rundir.Open(home, t.TempDir(), "12", 1)
	require.NoError(t, err)
	_, err = second.Read("gate.json")
	require.ErrorIs(t, err, os.ErrNotExist)
	again, err := rundir.Open(home, t.TempDir(), "12", 0)
	require.NoError(t, err)
	text, err := again.Read("gate.json")
	require.NoError(t, err)
	require.Equal(t, "one", string(text))
	require.True(t, strings.HasPrefix(again.Path("gate.json"), home))
	entries, err := os.ReadDir(filepath.Dir(again.Path("gate.json")))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing but the report is left")
}

func TestWithoutAHomeTheTemporaryDirectoryServes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, home := range []string{"", "/nope/nobody", file} {
		temporary := t.TempDir()
		dir, err := rundir.Open(home, temporary, "12", 0)
		require.NoError(t, err, home)
		require.Equal(t, filepath.Join(temporary, "preflight-"+strconv.Itoa(os.Getuid()), "12.0", "x"), dir.Path("x"))
	}
}

// Others can make whatever they like in /tmp before we come.
func TestForeignPlacesAreRefused(t *testing.T) {
	faults := map[string]func(t *testing.T, base string){
		"a link": func(t *testing.T, base string) {
			t.Helper()
			require.NoError(t, os.Symlink(t.TempDir(), base))
		},
		"a file": func(t *testing.T, base string) {
			t.Helper()
			require.NoError(t, os.WriteFile(base, nil, 0o600))
		},
		"open to all": func(t *testing.T, base string) {
			t.Helper()
			require.NoError(t, os.Mkdir(base, 0o777))
			require.NoError(t, os.Chmod(base, 0o777))
		},
		"of another user": func(t *testing.T, base string) {
			t.Helper()
			require.NoError(t, os.Mkdir(base, 0o700))
			require.NoError(t, os.Chown(base, 12345, 12345))
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			fault(t, filepath.Join(temporary, "preflight-"+strconv.Itoa(os.Getuid())))
			_, err := rundir.Open("", temporary, "12", 0)
			require.ErrorContains(t, err, temporary)
		})
	}
}

func TestJobThatIsNoName(t *testing.T) {
	for _, job := range []string{"../12", "a/b", "/"} {
		_, err := rundir.Open("", t.TempDir(), job, 0)
		require.Error(t, err, job)
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir, err := rundir.Open("", t.TempDir(), "12", 0)
	require.NoError(t, err)
	require.NoError(t, os.Symlink("/etc/hostname", dir.Path("link")))
	require.NoError(t, syscall.Mkfifo(dir.Path("pipe"), 0o600))
	require.NoError(t, os.Mkdir(dir.Path("directory"), 0o700))
	for _, name := range []string{"link", "pipe", "directory", "missing"} {
		_, err := dir.Read(name)
		require.Error(t, err, name)
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir, err := rundir.Open("", t.TempDir(), "12", 0)
	require.NoError(t, err)
	require.NoError(t, dir.Write("gate.json", content("old")))
	full := errors.New("no space left")
	err = dir.Write("gate.json", func(w io.Writer) error { return errors.Join(content("ne")(w), full) })
	require.ErrorIs(t, err, full)
	text, err := dir.Read("gate.json")
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
}
