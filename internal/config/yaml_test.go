package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

func TestParseYAML(t *testing.T) {
	entry := func(line, key, value string) config.Entry {
		return config.Entry{Key: key, Value: value, Source: "site.yaml:" + line}
	}
	tests := map[string]struct {
		text     string
		layer    config.Layer
		problems []string
	}{
		"empty":         {},
		"comments only": {text: "# nothing\n"},
		"nested, dotted and both": {
			text: "gate:\n  size: 1M\n  min: {allreduce: 0.08}\ngate.iters: 30\ngate.min:\n  x.y: z\n",
			layer: config.Layer{
				entry("2", "gate.size", "1M"), entry("3", "gate.min.allreduce", "0.08"),
				entry("4", "gate.iters", "30"), entry("6", "gate.min.x.y", "z"),
			},
		},
		"values are text": {
			text: "gate:\n  backend: 'host'\n  iters: 0x10\n  on_fail: no\n  host_lib: \"\"\n",
			layer: config.Layer{
				entry("2", "gate.backend", "host"), entry("3", "gate.iters", "0x10"),
				entry("4", "gate.on_fail", "no"), entry("5", "gate.host_lib", ""),
			},
		},
		"no value": {
			text:     "gate:\n  size:\n  iters: ~\n",
			problems: []string{`site.yaml:2: "gate.size=": expected one value`, `site.yaml:3: "gate.iters=~": expected one value`},
		},
		"a list": {
			text:     "gate:\n  size: [1M, 2M]\n  iters: 3\n",
			layer:    config.Layer{entry("3", "gate.iters", "3")},
			problems: []string{`site.yaml:2: "gate.size=": expected one value`},
		},
		"not a mapping": {
			text:     "- gate.size: 1M\n",
			problems: []string{"site.yaml:1: expected key: value"},
		},
		"a sentence": {
			text:     "gate.size=1M\n",
			problems: []string{"site.yaml:1: expected key: value"},
		},
		"a key that is no word": {
			text:     "gate:\n  [a]: 1\n  \"\": 2\n  iters: 3\n",
			layer:    config.Layer{entry("4", "gate.iters", "3")},
			problems: []string{`site.yaml:2: "gate=": expected a key that is a word`, `site.yaml:3: "gate=": expected a key that is a word`},
		},
		"an alias": {
			text:     "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n",
			problems: []string{`site.yaml:1: "a=": anchors and aliases are not read here`, `site.yaml:2: "c=x": anchors and aliases are not read here`, `site.yaml:3: "d=": expected one value`},
		},
		"a tag": {
			text:     "gate.size: !!str 1M\n",
			problems: []string{`site.yaml:1: "gate.size=1M": tags are not read here`},
		},
		"another file": {
			text:     "config: /etc/other.yaml\n",
			problems: []string{`site.yaml:1: "config=/etc/other.yaml": belongs into plugstack.conf: one file does not name another`},
		},
		"too deep": {
			text:     strings.Repeat("{a: ", 9) + "1" + strings.Repeat("}", 9),
			problems: []string{`site.yaml:1: "a.a.a.a.a.a.a.a=": expected one value`},
		},
		"two documents": {
			text:     "gate.size: 1M\n---\ngate.size: 2M\n",
			problems: []string{"site.yaml: expected one YAML document"},
		},
		"broken": {
			text:     "gate:\n  size: 1M\n iters: 3\n",
			problems: []string{"site.yaml: yaml: line 2: did not find expected key"},
		},
		"binary": {
			text:     "\x00\x01",
			problems: []string{"site.yaml: yaml: control characters are not allowed"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			layer, problems := config.ParseYAML("site.yaml", []byte(test.text))
			require.Equal(t, test.layer, layer)
			require.Equal(t, test.problems, sentences(problems))
		})
	}
}

func TestYAMLKeyTwice(t *testing.T) {
	layer, problems := config.ParseYAML("site.yaml", []byte("gate.size: 1M\ngate:\n  size: 2M\n"))
	require.Empty(t, problems)
	cfg, problems, err := config.Load([]config.Layer{layer})
	require.NoError(t, err)
	require.Equal(t, config.Bytes(1<<20), cfg.Gate.Size.Max)
	require.Equal(t, []string{`site.yaml:3: "gate.size=2M": set before at site.yaml:1, which counts`}, sentences(problems))
}

// FuzzParseYAML checks that no file crashes the reader, grows in it, or gets
// past Load without a Config.
func FuzzParseYAML(f *testing.F) {
	for _, seed := range []string{
		"gate:\n  size: 1M\n", "gate.min: {allreduce: 400}", "a: &a [*a]", "? [a]\n: b", "!!binary x: y", "- a", "---\n---\n", "<<: *x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		layer, _ := config.ParseYAML("site.yaml", data)
		require.LessOrEqual(t, len(layer), len(data), "an entry takes a byte or more")
		_, _, err := config.Load([]config.Layer{layer})
		require.NoError(t, err)
	})
}
