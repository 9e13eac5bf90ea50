package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

func TestBuiltIn(t *testing.T) {
	cfg, problems, err := config.Load(nil)
	require.NoError(t, err, "a key lacks its field, or a field its key")
	require.Empty(t, problems, "a built-in value that its own kind refuses")
	require.Equal(t, config.Gate{
		Min: config.Floors{
			"allreduce": 0, "allgather": 0, "reducescatter": 0, "alltoall": 0, "broadcast": 0, "reduce": 0, "sendrecv": 0,
		},
		Size: config.Sizes{Min: 16 << 20, Max: 16 << 20, Factor: 2}, Iters: 20, Warmup: 2, Time: 3 * time.Second, Timeout: 90 * time.Second,
		OnFail: config.OnFailFail, OnError: config.OnErrorAuto, Backend: config.BackendAuto,
		Default: config.Default{When: config.When{MinNodes: 1}},
	}, cfg.Gate)

	settings := cfg.Explain()
	require.Len(t, settings, len(config.Keys()))
	for i, key := range config.Keys() {
		require.Equal(t, key, settings[i].Key)
		require.Equal(t, "built in", cfg.Source(key))
	}
	require.Empty(t, cfg.Source("gate.nonsense"))
	settings[0].Source = "changed"
	require.Equal(t, "built in", cfg.Explain()[0].Source, "what Explain returns is the caller's")
}

func TestLayersInOrder(t *testing.T) {
	file := config.Layer{
		{Key: "gate.size", Value: "1M", Source: "file:1"},
		{Key: "gate.iters", Value: "30", Source: "file:2"},
		{Key: "gate.min.allreduce", Value: "0.08", Source: "file:3"},
	}
	args := config.Layer{
		{Key: "gate.iters", Value: "40", Source: "args"},
		{Key: "gate.on_fail", Value: "warn", Source: "args"},
	}
	user := config.Layer{{Key: "gate.on_fail", Value: "fail", Source: "option"}}

	cfg, problems, err := config.Load([]config.Layer{file, args}, user)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Equal(t, config.Bytes(1<<20), cfg.Gate.Size.Max)
	require.Equal(t, 40, cfg.Gate.Iters)
	require.Equal(t, config.OnFailFail, cfg.Gate.OnFail)
	require.InDelta(t, 0.08, float64(cfg.Gate.Min["allreduce"]), 0)
	require.Equal(t, "file:1", cfg.Source("gate.size"))
	require.Equal(t, "args", cfg.Source("gate.iters"))
	require.Equal(t, "option", cfg.Source("gate.on_fail"))
	require.Contains(t, cfg.Explain(), config.Setting{Key: "gate.min.allreduce", Value: "0.08", Source: "file:3"})
}

// gate.default has a value and keys below it, which a tree of maps has not.
func TestDefaultAndItsConditions(t *testing.T) {
	layer := config.Layer{
		{Key: "gate.default.when.min_nodes", Value: "2"},
		{Key: "gate.default", Value: "allreduce,min=400"},
		{Key: "gate.default.when.min_gpus", Value: "8"},
		{Key: "gate.default.when.partitions", Value: "gpu,debug"},
		{Key: "gate.enforce", Value: "yes"},
	}
	cfg, problems, err := config.Load([]config.Layer{layer})
	require.NoError(t, err)
	require.Empty(t, problems)
	require.True(t, cfg.Gate.Enforce)
	require.Equal(t, config.Default{
		Spec: "allreduce,min=400",
		When: config.When{MinNodes: 2, MinGPUs: 8, Partitions: []string{"gpu", "debug"}},
	}, cfg.Gate.Default)
	require.Equal(t, "allreduce,min=400", cfg.Value("gate.default"))
}

func TestSiteProblemsLeaveTheLayerBelow(t *testing.T) {
	file := config.Layer{{Key: "gate.size", Value: "1M", Source: "file:1"}}
	args := config.Layer{
		{Key: "gate.size", Value: "16X", Source: "args"},
		{Key: "gate.min.alreduce", Value: "400", Source: "args"},
		{Key: "gate.iters", Value: "30", Source: "args"},
		{Key: "gate.iters", Value: "31", Source: "args:2"},
		{Key: "gate", Value: "x", Source: "args"},
		{Key: "nonsense\n", Value: "", Source: "args"},
	}
	cfg, problems, err := config.Load([]config.Layer{file, args})
	require.NoError(t, err)
	require.Equal(t, config.Bytes(1<<20), cfg.Gate.Size.Max)
	require.Equal(t, 30, cfg.Gate.Iters)
	require.Equal(t, []string{
		`args: "gate.size=16X": expected a size from 4 to 64G, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)`,
		`args: "gate.min.alreduce=400": unknown key, did you mean gate.min.allreduce?`,
		`args:2: "gate.iters=31": set before at args, which counts`,
		"args: \"gate=x\": unknown key; `preflight config` lists the known ones",
		"args: \"nonsense\\n=\": unknown key; `preflight config` lists the known ones",
	}, sentences(problems))
}

func TestUserProblemIsAnError(t *testing.T) {
	site := config.Layer{{Key: "gate.sise", Value: "1M", Source: "args"}}
	user := config.Layer{{Key: "gate.iters", Value: "0", Source: "option"}}
	_, problems, err := config.Load([]config.Layer{site}, user)
	require.EqualError(t, err, `option: "gate.iters=0": expected a whole number from 1 to 10000`)
	require.Equal(t, []string{`args: "gate.sise=1M": unknown key, did you mean gate.size?`}, sentences(problems))
}

func sentences(problems []config.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return all
}
