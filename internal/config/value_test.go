package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/internal/config"
)

func TestCheck(t *testing.T) {
	tests := map[string]struct{ good, bad []string }{
		"config": {
			good: []string{"", "/etc/preflight/preflight.yaml"},
			bad:  []string{"preflight.yaml", "./x", "/a\r", "/a\x1b", "/a\xff", "/" + strings.Repeat("a", 4096)},
		},
		"gate.min.allreduce": {
			good: []string{"0", "400", "0.08", "007", "100000"},
			bad: []string{
				"", "-1", "+1", ".5", "5.", "1e3", "0x1p3", "Inf", "NaN", "1_000", "100000.1", "400 ", "4,5",
				strings.Repeat("9", 400), "400GB/s",
			},
		},
		"gate.size": {
			good: []string{"4", "16M", "16m", "1k", "64G", "65536M", "04", "1M:1G", "1M:1G:4", "4:64G", "1M:1M", "1M:1G:2147483647"},
			bad: []string{
				"", "0", "3", "-4", "+4", "65G", "16X", "16MB", "16MiB", "1.5G", "M", "M16", "16 M", "1T",
				"1G:1M", "3:16M", "1M:65G", "1M:", ":1M", "1M:1G:", "1M:1G:1", "1M:1G:0", "1M:1G:-2", "1M:1G:+2", "1M:1G:2M", "1M:1G:1.5",
				"1M:1G:2:2", "1M::2", "1M:1G:2147483648", "1M-1G", "8589934592G", "17179869185G", "9223372036854775808", "٤",
			},
		},
		"gate.iters": {
			good: []string{"1", "10000"},
			bad:  []string{"", "0", "-1", "+1", "10001", "1.0", "1e2", "0x10", "99999999999999999999", "4294967297"},
		},
		"gate.warmup": {good: []string{"1", "1000"}, bad: []string{"0", "1001"}},
		"gate.time": {
			good: []string{"100ms", "3s", "1.5s", "1h"},
			bad:  []string{"", "3", "0", "99ms", "-3s", "61m", "3 s", "9999999999h", "3d"},
		},
		"gate.timeout":  {good: []string{"1s", "90s", "2m", "24h"}, bad: []string{"999ms", "24h1s", "90"}},
		"gate.on_fail":  {good: []string{"fail", "warn"}, bad: []string{"", "requeue", "Fail", "fail warn"}},
		"gate.on_error": {good: []string{"auto", "run", "fail"}, bad: []string{"", "warn"}},
		"gate.default":  {good: []string{"", "allreduce,min=400", "off"}, bad: []string{"a b", "a\n", strings.Repeat("a", 1025)}},
		"gate.default.when.min_nodes": {
			good: []string{"0", "1", "2", "1000000"}, bad: []string{"", "-1", "1000001", "2.0", "two"},
		},
		"gate.default.when.min_gpus": {good: []string{"0", "8"}, bad: []string{"", "-8", "8x", "999999999"}},
		"gate.default.when.partitions": {
			good: []string{"", "gpu", "gpu,debug", "a-b_c.d+e"}, bad: []string{",", "gpu,", ",gpu", "a b", "a;b", "*"},
		},
		"gate.enforce":  {good: []string{"yes", "no"}, bad: []string{"", "true", "Yes", "1"}},
		"gate.backend":  {good: []string{"auto", "host"}, bad: []string{"", "nccl", "rccl", "HOST"}},
		"gate.host_lib": {good: []string{"", "/opt/libhostccl.so"}, bad: []string{"libhostccl.so"}},
		"gate.worker":   {good: []string{"", "/opt/preflight-worker"}, bad: []string{"preflight-worker"}},
		"gate.interface": {
			good: []string{"", "eth0", "=eth0", "^lo,docker", "^=eth0", "eth0,ib0", "bond0.12", "eth0:1"},
			bad:  []string{"eth0,", ",", "=", "^", "==eth0", "eth 0", "a/b", "abcdefghijklmnop", "$(x)"},
		},
	}
	for _, collective := range []string{"allgather", "reducescatter", "alltoall", "broadcast", "reduce", "sendrecv"} {
		tests["gate.min."+collective] = tests["gate.min.allreduce"]
	}
	require.Len(t, tests, len(config.Keys()), "every key has its row")
	for key, test := range tests {
		t.Run(key, func(t *testing.T) {
			for _, value := range test.good {
				require.NoError(t, config.Check(key, value), "value %q", value)
			}
			for _, value := range test.bad {
				require.ErrorContains(t, config.Check(key, value), "expected ", "value %q", value)
			}
		})
	}
}

func TestBytesString(t *testing.T) {
	for size, text := range map[config.Bytes]string{
		0: "0", 4: "4", 1023: "1023", 1024: "1K", 1536: "1536", 16 << 20: "16M", 64 << 30: "64G", 3 << 29: "1536M",
	} {
		require.Equal(t, text, size.String())
	}
}

func TestChoices(t *testing.T) {
	require.Equal(t, []string{"fail", "warn"}, config.Choices("gate.on_fail"))
	require.Equal(t, []string{"yes", "no"}, config.Choices("gate.enforce"))
	for _, key := range []string{"gate.size", "config", "gate.interface", "gate.default", "nonsense", ""} {
		require.Empty(t, config.Choices(key))
	}
}

func TestSizesList(t *testing.T) {
	for text, want := range map[string][]config.Bytes{
		"16M":                 {16 << 20},
		"1M:1M":               {1 << 20},
		"1M:4M":               {1 << 20, 2 << 20, 4 << 20},
		"1M:7M":               {1 << 20, 2 << 20, 4 << 20},
		"1K:1M:32":            {1 << 10, 32 << 10, 1 << 20},
		"1M:64G:2147483647":   {1 << 20},
		"1:8589934591G:65536": {1, 1 << 16, 1 << 32, 1 << 48},
	} {
		sizes, err := config.ParseSizes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, sizes.List(), text)
	}
	longest, err := config.ParseSizes("4:64G")
	require.NoError(t, err)
	require.Len(t, longest.List(), 35)
}

func TestNearest(t *testing.T) {
	known := []string{"allreduce", "off", "size", "gate.size", "on-fail"}
	for word, want := range map[string]string{
		"alreduce": "allreduce", "ALLREDUCE": "allreduce", "allerduce": "allreduce", "all-reduce": "allreduce",
		"of": "off", "sise": "size", "gate.sze": "gate.size", "on_fail": "on-fail", "sizes": "size",
		"": "", "x": "", "qsub": "", "elephants": "", "reduce_scatter": "",
	} {
		got, ok := config.Nearest(word, known)
		require.Equal(t, want, got, "word %q", word)
		require.Equal(t, want != "", ok)
	}
	got, _ := config.Nearest("iters", []string{"gate.size", "gate.iters"})
	require.Equal(t, "gate.iters", got, "a key without its prefix")
	got, _ = config.Nearest("szie", []string{"side", "size"})
	require.Equal(t, "size", got, "swapped neighbours are one mistake")
}

func TestQuote(t *testing.T) {
	require.Equal(t, `"a\n\x1b\""`, config.Quote("a\n\x1b\""))
	require.Equal(t, `"`+strings.Repeat("a", 60)+`"…`, config.Quote(strings.Repeat("a", 61)))
}

// FuzzParseSizes checks that what is read is written so that it reads the same,
// and that every sweep ends.
func FuzzParseSizes(f *testing.F) {
	for _, seed := range []string{"4", "1M:1G", "1k:64g:3", "1:9223372036854775807:2", "1:2:3:4", "1M:", "1:9223372036854775807:2147483647"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := config.ParseSizes(text)
		if err != nil {
			return
		}
		list := sizes.List()
		require.NotEmpty(t, list)
		require.LessOrEqual(t, len(list), 64)
		require.LessOrEqual(t, list[len(list)-1], sizes.Max)
		again, err := config.ParseSizes(sizes.String())
		require.NoError(t, err)
		require.Equal(t, list, again.List())
	})
}

// FuzzParseBytes checks that what is read is written so that it reads the same.
func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"4", "16M", "1g", "9223372036854775807", "8589934591G", "-1", "M"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := config.ParseBytes(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, size, config.Bytes(0))
		again, err := config.ParseBytes(size.String())
		require.NoError(t, err)
		require.Equal(t, size, again)
	})
}

// FuzzCheck checks that no value of any key crashes its parser, and that what
// a kind accepts the configuration takes.
func FuzzCheck(f *testing.F) {
	for i := range config.Keys() {
		for _, seed := range []string{"1", "16M", "90s", "0.5", "/x", "^=eth0,lo", "fail", "host"} {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, i int, value string) {
		keys := config.Keys()
		key := keys[int(uint(i)%uint(len(keys)))]
		if config.Check(key, value) != nil {
			return
		}
		cfg, _, err := config.Load(nil, config.Layer{{Key: key, Value: value, Source: "fuzz"}})
		require.NoError(t, err)
		require.Equal(t, "fuzz", cfg.Source(key))
	})
}
