package dl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/cgo/dl"
)

// compile makes a shared library from C source.
func compile(t *testing.T, directory, name, source string, flags ...string) string {
	t.Helper()
	file := filepath.Join(directory, name+".c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	library := filepath.Join(directory, "lib"+name+".so")
	arguments := append([]string{"-shared", "-fPIC", "-Wl,--no-as-needed", "-o", library, file}, flags...)
	output, err := exec.Command("gcc", arguments...).CombinedOutput()
	require.NoError(t, err, string(output))
	return library
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	directory := t.TempDir()
	text := filepath.Join(directory, "libtext.so")
	require.NoError(t, os.WriteFile(text, []byte("I am no library.\n"), 0o600))
	needed := compile(t, directory, "needed", "int needed(void) { return 1; }")
	needy := compile(t, directory, "needy", "int needed(void); int call(void) { return needed(); }",
		"-L"+directory, "-lneeded")
	require.NoError(t, os.Remove(needed))
	missing := filepath.Join(directory, "libmissing.so")

	var notFound *dl.NotFoundError
	var notLoaded *dl.LoadError
	for name, want := range map[string]struct {
		target any
		text   string
	}{
		missing:               {&notFound, "library " + missing + " does not exist"},
		"libnosuchlibrary.so": {&notFound, "library libnosuchlibrary.so was not found in the dynamic loader's search path"},
		text:                  {&notLoaded, "library " + text + " cannot be loaded: file too short"},
		needy:                 {&notLoaded, "library " + needy + " cannot be loaded: it needs libneeded.so, which was not found"},
		directory:             {&notLoaded, "library " + directory + " cannot be loaded: cannot read file data: Is a directory"},
	} {
		_, err := dl.Open(name)
		require.ErrorAs(t, err, want.target)
		require.EqualError(t, err, want.text)
	}
}

func TestSymbols(t *testing.T) {
	directory := t.TempDir()
	real := compile(t, directory, "first", "int present(void) { return 1; }")
	link := filepath.Join(directory, "liblink.so.1")
	require.NoError(t, os.Symlink(real, link))
	library, err := dl.Open(link)
	require.NoError(t, err)
	require.Equal(t, real, library.Path(), "links are resolved")

	var present, absent uintptr
	library.BindOptional(map[string]*uintptr{"present": &present, "absent": &absent})
	require.NotZero(t, present)
	require.Zero(t, absent)

	err = library.Bind(map[string]*uintptr{"present": &present, "zebra": &absent, "absent": &absent})
	var missing *dl.SymbolError
	require.ErrorAs(t, err, &missing)
	require.EqualError(t, err, "library "+real+" has no function absent: it is another library or too old a version")
	require.NoError(t, library.Close())
}
