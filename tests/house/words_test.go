package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	packages := map[string]int{} // package comments by directory
	for _, file := range sources(t) {
		if file.isTest() {
			continue
		}
		packages[file.dir()] += 0
		if file.tree.Doc != nil {
			packages[file.dir()]++
		}
	}
	for dir, comments := range packages {
		require.Equal(t, 1, comments, "package comments in %s", dir)
	}
}

func TestNamesSayWhatIsInside(t *testing.T) {
	empty := regexp.MustCompile(`(?i)(^|[/_])(utils?|common|helpers?|misc|shared|base)(_test)?(/|\.[a-z]+$)`)
	for _, name := range files(t) {
		require.False(t, empty.MatchString(name), "%s: a name that could hold anything; call it by its subject", name)
	}
}

// The tree is read on other machines than the one it was written on, and built
// behind mirrors that only the user knows.
func TestNoHostNoRegistry(t *testing.T) {
	registries := regexp.MustCompile(`(?i)\b(proxy\.golang|sum\.golang|registry\.npmjs|registry\.yarnpkg|pypi|files\.pythonhosted|` +
		`(ftp|deb|security|snapshot)\.debian|archive\.ubuntu|ghcr|quay|docker|gcr|nvcr)\.(org|com|io)\b`)
	hostPath := regexp.MustCompile(`(^|[\s"'(=:])/(` + "work" + `/(main|shared)|root/go)\b`)
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, name := range files(t) {
		if filepath.Base(name) == "go.sum" || name == "tests/house/words_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Empty(t, registries.FindString(string(text)), "%s names a registry's host", name)
		require.Empty(t, hostPath.FindString(string(text)), "%s names a path of one machine", name)
		if strings.Count(checkout, "/") > 1 {
			require.NotContains(t, string(text), checkout+"/", "%s names this checkout", name)
		}
	}
}
