package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

// plugstack writes files into a directory and reads plugstack.conf there. What
// it returns names the directory DIR.
func plugstack(t *testing.T, files map[string]string) (layers [][]string, problems []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	}
	found, wrong := config.FromPlugstack(filepath.Join(dir, "plugstack.conf"))
	for _, layer := range found {
		entries := []string{}
		for _, e := range layer {
			entries = append(entries, strings.ReplaceAll(fmt.Sprintf("%s %s=%s", e.Source, e.Key, e.Value), dir, "DIR"))
		}
		layers = append(layers, entries)
	}
	for _, p := range wrong {
		problems = append(problems, strings.ReplaceAll(p.String(), dir, "DIR"))
	}
	return layers, problems
}

func TestFromPlugstack(t *testing.T) {
	type texts = map[string]string
	tests := map[string]struct {
		files    texts
		layers   [][]string
		problems []string
	}{
		"no file": {},
		"no line": {files: texts{"plugstack.conf": "# nothing\n\nrequired /opt/spank_pyxis.so a=b\n"}},
		"no arguments": {
			files:  texts{"plugstack.conf": "required spank_preflight.so"},
			layers: [][]string{{}},
		},
		"blanks, tabs and a comment": {
			files: texts{"plugstack.conf": "# ours:\n\n \toptional\t/usr/lib/spank_preflight.so \t gate.size=1M  gate.interface==eth0\tgate.iters=3#0 gate.time=1s\n"},
			layers: [][]string{{
				"DIR/plugstack.conf:3 gate.size=1M", "DIR/plugstack.conf:3 gate.interface==eth0", "DIR/plugstack.conf:3 gate.iters=3",
			}},
		},
		"a comment takes the whole line": {
			files: texts{"plugstack.conf": "#required spank_preflight.so gate.size=1M\n"},
		},
		"a line written on Windows": {
			files:  texts{"plugstack.conf": "required spank_preflight.so gate.size=1M\r\n"},
			layers: [][]string{{"DIR/plugstack.conf:1 gate.size=1M\r"}},
		},
		"malformed lines are skipped": {
			files:  texts{"plugstack.conf": "requires spank_preflight.so gate.size=1M\nrequired\nRequired x\nrequired spank_preflight.so gate.size=2M nonsense =x\n"},
			layers: [][]string{{"DIR/plugstack.conf:4 gate.size=2M"}},
			problems: []string{
				`DIR/plugstack.conf:1: the line begins with "requires", expected required, optional or include; Slurm ignores it`,
				`DIR/plugstack.conf:2: nothing follows required; Slurm ignores the line`,
				`DIR/plugstack.conf:3: the line begins with "Required", expected required, optional or include; Slurm ignores it`,
				`DIR/plugstack.conf:4: expected key=value, found "nonsense"`,
				`DIR/plugstack.conf:4: expected key=value, found "=x"`,
			},
		},
		"include, relative and in order": {
			files: texts{
				"plugstack.conf":            "include plugstack.conf.d/*.conf\n",
				"plugstack.conf.d/b.conf":   "required spank_preflight.so gate.size=2M\n",
				"plugstack.conf.d/a.conf":   "include DIR/deep/er.conf\n",
				"deep/er.conf":              "\nrequired spank_preflight.so gate.size=1M\n",
				"plugstack.conf.d/.c.conf":  "required spank_preflight.so gate.size=3M\n",
				"plugstack.conf.d/a.conf~":  "required spank_preflight.so gate.size=4M\n",
				"plugstack.conf.d/dir/x":    "",
				"plugstack.conf.d/README":   "not read",
				"plugstack.conf.d/0/0.conf": "required spank_preflight.so gate.size=5M\n",
			},
			layers:   [][]string{{"DIR/deep/er.conf:2 gate.size=1M"}},
			problems: []string{`DIR/plugstack.conf.d/b.conf:1: the plugin is named before at DIR/deep/er.conf:2, which counts`},
		},
		"include of a class, of nothing, of a bad pattern": {
			files: texts{
				"plugstack.conf": "include [!a].conf\ninclude missing.conf\ninclude [\n",
				"a.conf":         "required spank_preflight.so gate.size=1M\n",
				"b.conf":         "required spank_preflight.so gate.size=2M\n",
			},
			layers:   [][]string{{"DIR/b.conf:1 gate.size=2M"}},
			problems: []string{`DIR/plugstack.conf:3: include "[": syntax error in pattern`},
		},
		"a cycle": {
			files: texts{
				"plugstack.conf": "include a.conf\nrequired spank_preflight.so\n",
				"a.conf":         "include ./plugstack.conf\ninclude a.conf\n",
			},
			layers:   [][]string{{}},
			problems: []string{`DIR/plugstack.conf: it includes itself`, `DIR/a.conf: it includes itself`},
		},
		"the same file twice is no cycle": {
			files: texts{
				"plugstack.conf": "include a.conf\ninclude a.conf\n",
				"a.conf":         "required spank_preflight.so\n",
			},
			layers:   [][]string{{}},
			problems: []string{`DIR/a.conf:1: the plugin is named before at DIR/a.conf:1, which counts`},
		},
		"a long line": {
			files:    texts{"plugstack.conf": "required spank_preflight.so gate.size=1M " + strings.Repeat(" ", 4095) + "gate.iters=3\n"},
			layers:   [][]string{{"DIR/plugstack.conf:1 gate.size=1M"}},
			problems: []string{`DIR/plugstack.conf:1: the line has 4148 bytes; Slurm cuts it after 4095`},
		},
		"a large file": {
			files:    texts{"plugstack.conf": strings.Repeat("#", 1<<20+1)},
			problems: []string{`DIR/plugstack.conf: cannot read it: larger than 1M`},
		},
		"a directory": {
			files:    texts{"plugstack.conf/x": ""},
			problems: []string{`DIR/plugstack.conf: cannot read it: not a regular file`},
		},
		"a YAML file below the arguments": {
			files: texts{
				"plugstack.conf": "required spank_preflight.so gate.size=1M config=DIR/site.yaml config=DIR/other.yaml\n",
				"site.yaml":      "# site\ngate:\n  size: 2M\n",
			},
			layers: [][]string{
				{"DIR/site.yaml:3 gate.size=2M"},
				{"DIR/plugstack.conf:1 gate.size=1M", "DIR/plugstack.conf:1 config=DIR/site.yaml", "DIR/plugstack.conf:1 config=DIR/other.yaml"},
			},
		},
		"a missing YAML file": {
			files:    texts{"plugstack.conf": "required spank_preflight.so config=/nonexistent/x.yaml\n"},
			layers:   [][]string{{}, {"DIR/plugstack.conf:1 config=/nonexistent/x.yaml"}},
			problems: []string{`DIR/plugstack.conf:1: "config=/nonexistent/x.yaml": cannot read it: no such file or directory`},
		},
		"no YAML file, said so": {
			files:  texts{"plugstack.conf": "required spank_preflight.so config=\n"},
			layers: [][]string{{"DIR/plugstack.conf:1 config="}},
		},
		"a YAML file named relatively is left to Load": {
			files:  texts{"plugstack.conf": "required spank_preflight.so config=site.yaml\n"},
			layers: [][]string{{"DIR/plugstack.conf:1 config=site.yaml"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			layers, problems := plugstack(t, test.files)
			require.Equal(t, test.layers, layers)
			require.Equal(t, test.problems, problems)
		})
	}
}

func TestFromPlugstackDoesNotWaitForAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "plugstack.conf")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	layers, problems := config.FromPlugstack(pipe)
	require.Empty(t, layers)
	require.Equal(t, []string{pipe + ": cannot read it: not a regular file"}, sentences(problems))
}

func TestFromPlugstackStopsAtManyIncludes(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		text := fmt.Sprintf("include %d.conf\n", i+1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.conf", i)), []byte(text), 0o600))
	}
	_, problems := config.FromPlugstack(filepath.Join(dir, "0.conf"))
	require.Equal(t, []string{filepath.Join(dir, "255.conf:1") + ": more than 256 files are included"}, sentences(problems))
}

func TestFromArgs(t *testing.T) {
	layers, problems := config.FromArgs([]string{"gate.size=1M", "gate.host_lib=", "oops"})
	require.Equal(t, []config.Layer{{
		{Key: "gate.size", Value: "1M", Source: "plugstack.conf arguments"},
		{Key: "gate.host_lib", Value: "", Source: "plugstack.conf arguments"},
	}}, layers)
	require.Equal(t, []string{`plugstack.conf arguments: expected key=value, found "oops"`}, sentences(problems))

	layers, problems = config.FromArgs(nil)
	require.Equal(t, []config.Layer{{}}, layers)
	require.Empty(t, problems)
}

// FuzzParseLine checks that a line's words hold nothing that Slurm would have cut away.
func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{
		"required /x/spank_preflight.so gate.size=1M # c", "include *.conf", "optional", " \t", "#", "x y z", "required a\x00b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		directive, operand, args, err := config.ParseLine(line)
		if err != nil || directive == "" {
			require.Empty(t, operand)
			require.Empty(t, args)
			return
		}
		require.Contains(t, []string{"required", "optional", "include"}, directive)
		for _, word := range append(args, operand) {
			require.NotEmpty(t, word)
			require.False(t, strings.ContainsAny(word, " \t#\x00"), "word %q", word)
		}
	})
}

// The arguments that Slurm handed to a hook are those of a line, and that is worth naming.
func TestFromHookNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugstack.conf")
	require.NoError(t, os.WriteFile(path, []byte("# ours\nrequired spank_preflight.so gate.size=1M\t gate.iters=3 # three\n"), 0o600))
	for source, args := range map[string][]string{
		path + ":2":                {"gate.size=1M", "gate.iters=3"},
		"plugstack.conf arguments": {"gate.size=1M", "gate.iters=4"}, // the file was changed, or is not the one that Slurm read
	} {
		layers, problems := config.FromHook(args, path)
		require.Empty(t, problems)
		require.Equal(t, source, layers[0][0].Source)
	}
	layers, _ := config.FromHook([]string{"gate.size=1M"}, filepath.Join(filepath.Dir(path), "missing"))
	require.Equal(t, "plugstack.conf arguments", layers[0][0].Source)
}
