package cluster_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/lab/cluster"
)

func TestWith(t *testing.T) {
	for name, c := range map[string]struct {
		have, set, want string
	}{
		"first":                     {"", "a=1", "a=1"},
		"comes last":                {"a=1", "b=2", "a=1 b=2"},
		"replaces in place":         {"a=1 b=2", "a=3", "a=3 b=2"},
		"removes":                   {"a=1 b=2", "a=", "b=2"},
		"removes what is not there": {"a=1", "b=", "a=1"},
		"key is whole":              {"gate.min=1", "gate.min.allreduce=2", "gate.min=1 gate.min.allreduce=2"},
		"last of two wins":          {"", "a=1 a=2", "a=2"},
		"one of doubles":            {"a=1 b=2 a=3", "a=4", "a=4 b=2"},
		"value has equals":          {"", "when=nodes=2", "when=nodes=2"},
		"set and removed":           {"a=1", "b=2 b=", "a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			have := cluster.Plugstack{Args: strings.Fields(c.have)}
			got, err := have.With(strings.Fields(c.set))
			require.NoError(t, err)
			require.Equal(t, strings.Fields(c.want), append([]string{}, got.Args...))
			require.Equal(t, strings.Fields(c.have), append([]string{}, have.Args...), "the old line changed")
		})
	}
}

func TestWithRefuses(t *testing.T) {
	for _, setting := range []string{"", "word", "=1", "a=1 2", "a=1#2", "a=\n"} {
		_, err := cluster.Plugstack{}.With([]string{setting})
		require.Error(t, err, "%q", setting)
	}
}

func TestPlugstackTravels(t *testing.T) {
	for _, line := range []cluster.Plugstack{
		{Args: []string{}},
		{Args: []string{"a=1", "b.c=2"}, Optional: true},
	} {
		for _, built := range []bool{true, false} {
			got, err := cluster.ParsePlugstack(line.Conf(built))
			require.NoError(t, err)
			require.Equal(t, line, got)
		}
		require.True(t, strings.HasPrefix(line.Conf(false), "#"), "Slurm would load a plugin that is not there")
	}
}

func FuzzParsePlugstack(f *testing.F) {
	f.Add("required " + cluster.Plugin + " a=1 b=2\n")
	f.Add("# not built: optional " + cluster.Plugin + "\n")
	f.Fuzz(func(t *testing.T, conf string) {
		line, err := cluster.ParsePlugstack(conf)
		if err != nil {
			return
		}
		again, err := cluster.ParsePlugstack(line.Conf(true))
		require.NoError(t, err)
		require.Equal(t, line, again)
	})
}
