package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
)

// page is a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	require.NoError(t, err)
	return string(text)
}

// items has the words that the lists of a manual page explain, as mdoc writes them.
func items(t *testing.T, name string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^\.It (Cm|Fl) (\S+)`).FindAllStringSubmatch(page(t, "man/"+name), -1) {
		found[strings.TrimSuffix(match[2], ".")] = true
	}
	require.NotEmpty(t, found)
	return found
}

// floor has the collective's name in place of one word for them all.
var floor = regexp.MustCompile(`^gate\.min\.(\w+)$`)

func TestEverySettingIsDescribed(t *testing.T) {
	described, admin := items(t, "preflight.conf.5"), page(t, "admin.md")
	for _, key := range config.Keys() {
		if floor.MatchString(key) {
			require.True(t, described["gate.min"], "preflight.conf(5)")
			require.Contains(t, admin, "`gate.min.COLLECTIVE`", "admin.md")
			continue
		}
		require.True(t, described[key], "preflight.conf(5) does not describe %s", key)
		require.Contains(t, admin, "`"+key+"`", "admin.md does not describe %s", key)
	}
}

func TestEveryWordOfTheOptionIsDescribed(t *testing.T) {
	described, user := items(t, "preflight-gate.1"), page(t, "user.md")
	for _, word := range collectives.Words() {
		require.True(t, described[strings.TrimSuffix(word, "=")], "preflight-gate(1) does not describe %s", word)
		require.Regexp(t, "`"+regexp.QuoteMeta(word), user, "user.md does not describe %s", word)
	}
}

func TestEveryCommandIsDescribed(t *testing.T) {
	described := items(t, "preflight.1")
	root := newRoot()
	addCompletion(root)
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		require.True(t, described[cmd.Name()], "preflight(1) does not describe %s", cmd.Name())
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			require.True(t, described["-"+flag.Name], "preflight(1) does not describe --%s of %s", flag.Name, cmd.Name())
		})
	}
}

// A value that is described as built in is.
func TestBuiltInValuesAreTrue(t *testing.T) {
	cfg, _, err := config.Load(nil)
	require.NoError(t, err)
	text := page(t, "man/preflight.conf.5")
	found := regexp.MustCompile(`(?s)\.It Cm (\S+) [^\n]*\n(?:[^.\n][^\n]*\n|\.[A-HJ-Z][^\n]*\n)*?Built in: (\w+)`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(found), 5)
	for _, match := range found {
		if value := cfg.Value(match[1]); value != "" && !strings.HasPrefix(match[1], "gate.default.when") {
			require.Equal(t, value, match[2], match[1])
		}
	}
}
