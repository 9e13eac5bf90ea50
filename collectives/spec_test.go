package collectives_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
	"slurm-preflight/internal/config"
)

func TestParseSpec(t *testing.T) {
	entry := func(key, value string) config.Entry {
		return config.Entry{Key: key, Value: value, Source: "--nccl-validate"}
	}
	allReduce := []collectives.Op{collectives.AllReduce}
	tests := map[string]struct {
		text   string
		ops    []collectives.Op
		off    bool
		report string
		layer  config.Layer
	}{
		"one collective":   {text: "allreduce", ops: allReduce},
		"nccl-tests' name": {text: "all_reduce", ops: allReduce},
		"capitals":         {text: "AllReduce", ops: allReduce},
		"off":              {text: "off", off: true},
		"report":           {text: "allreduce,report=out/gate=1.json", ops: allReduce, report: "out/gate=1.json"},
		"floor before its op": {
			text: "min=0.08,allreduce", ops: allReduce,
			layer: config.Layer{entry("gate.min.allreduce", "0.08")},
		},
		"several, each with the floor": {
			text: "all_gather,min=3,sendrecv", ops: []collectives.Op{collectives.AllGather, collectives.SendRecv},
			layer: config.Layer{entry("gate.min.allgather", "3"), entry("gate.min.sendrecv", "3")},
		},
		"a sweep": {
			text: "allreduce,size=1M:1G:4", ops: allReduce, layer: config.Layer{entry("gate.size", "1M:1G:4")},
		},
		"every setting": {
			text: "allreduce,size=1G,iters=50,timeout=2m,on-fail=warn,backend=host", ops: allReduce,
			layer: config.Layer{
				entry("gate.size", "1G"), entry("gate.iters", "50"), entry("gate.timeout", "2m"),
				entry("gate.on_fail", "warn"), entry("gate.backend", "host"),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := collectives.ParseSpec(test.text)
			require.NoError(t, err)
			require.Equal(t, test.ops, spec.Ops)
			require.Equal(t, test.off, spec.Off)
			require.Equal(t, test.report, spec.Report)
			require.Equal(t, test.layer, spec.Layer())
			require.NoError(t, collectives.CheckOption(test.text))
		})
	}
}

func TestParseSpecRefuses(t *testing.T) {
	const ops = `allreduce, allgather, reducescatter, alltoall, broadcast, reduce, sendrecv`
	const known = `known: ` + ops + `, off, backend=, iters=, min=, on-fail=, report=, size=, timeout=`
	tests := map[string]struct{ text, says string }{
		"nothing":            {"", `--nccl-validate is empty: name a collective, such as allreduce, or off`},
		"a typing error":     {"alreduce", `unknown collective or setting "alreduce": did you mean "allreduce"? (` + known + `)`},
		"its nearest":        {"reduce_scater", `unknown collective or setting "reduce_scater": did you mean "reducescatter"? (` + known + `)`},
		"swapped letters":    {"allerduce", `unknown collective or setting "allerduce": did you mean "allreduce"? (` + known + `)`},
		"nothing like it":    {"qsub", `unknown collective or setting "qsub"; ` + known},
		"wrong setting":      {"allreduce,sise=1G", `unknown setting "sise": did you mean "size"? (` + known + `)`},
		"underscore":         {"allreduce,on_fail=warn", `unknown setting "on_fail": did you mean "on-fail"? (` + known + `)`},
		"no value":           {"allreduce,size", `setting "size" needs a value: size=…`},
		"value of an op":     {"allreduce=400", `"allreduce=400": collective allreduce takes no value; its floor is set with min=GB/s`},
		"no key":             {"allreduce,=4", `unknown setting ""; ` + known},
		"settings only":      {"size=1G", `--nccl-validate names no collective: add one of ` + ops},
		"off and more":       {"off,allreduce", `"off" stands alone: remove it, or all the other words`},
		"off and a setting":  {"size=1G,off", `"off" stands alone: remove it, or all the other words`},
		"a collective twice": {"allreduce,all_reduce", `"all_reduce": allreduce is given twice`},
		"a setting twice":    {"allreduce,size=1G,size=2G", `"size=2G": size is given twice`},
		"off twice":          {"off,off", `"off": off is given twice`},
		"comma first":        {",allreduce", `--nccl-validate has a comma too many: there is no word before or after it`},
		"comma last":         {"allreduce,", `--nccl-validate has a comma too many: there is no word before or after it`},
		"two commas":         {"allreduce,,size=1G", `--nccl-validate has a comma too many: there is no word before or after it`},
		"blank":              {"allreduce, size=1G", `--nccl-validate must not hold the character ' ': write words and commas only, such as allreduce,size=1G`},
		"newline":            {"allreduce\n", `--nccl-validate must not hold the character '\n': write words and commas only, such as allreduce,size=1G`},
		"escape":             {"\x1b[2Jallreduce", `--nccl-validate must not hold the character '\x1b': write words and commas only, such as allreduce,size=1G`},
		"not UTF-8":          {"allreduce\xff", `--nccl-validate is not valid UTF-8`},
		"too long":           {strings.Repeat("a", 10_000), `--nccl-validate has 10000 bytes, 1024 are allowed`},
		"long word":          {strings.Repeat("a", 1_000), `unknown collective or setting "` + strings.Repeat("a", 60) + `"…; ` + known},
		"negative floor":     {"allreduce,min=-1", `"min=-1": expected GB/s as a plain number from 0 to 100000, such as 400 or 0.08`},
		"not a number":       {"allreduce,min=NaN", `"min=NaN": expected GB/s as a plain number from 0 to 100000, such as 400 or 0.08`},
		"endless floor":      {"allreduce,min=Inf", `"min=Inf": expected GB/s as a plain number from 0 to 100000, such as 400 or 0.08`},
		"floor with a unit":  {"allreduce,min=400GB/s", `"min=400GB/s": expected GB/s as a plain number from 0 to 100000, such as 400 or 0.08`},
		"unknown unit":       {"allreduce,size=16X", `"size=16X": expected a size from 4 to 64G, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)`},
		"overflow":           {"allreduce,size=99999999999999999999G", `"size=99999999999999999999G": expected a size from 4 to 64G, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)`},
		"wrapped overflow":   {"allreduce,size=17179869185G", `"size=17179869185G": expected a size from 4 to 64G, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)`},
		"a sweep downwards":  {"allreduce,size=1G:1M", `"size=1G:1M": expected a size from 4 to 64G, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)`},
		"no iterations":      {"allreduce,iters=0", `"iters=0": expected a whole number from 1 to 10000`},
		"part of one":        {"allreduce,iters=1.5", `"iters=1.5": expected a whole number from 1 to 10000`},
		"time without unit":  {"allreduce,timeout=90", `"timeout=90": expected a time from 1s to 24h with its unit, such as 90s or 2m`},
		"too patient":        {"allreduce,timeout=25h", `"timeout=25h": expected a time from 1s to 24h with its unit, such as 90s or 2m`},
		"later value":        {"allreduce,on-fail=requeue", `"on-fail=requeue": expected fail or warn`},
		"later backend":      {"allreduce,backend=nccl", `"backend=nccl": expected auto or host`},
		"report to nowhere":  {"allreduce,report=", `"report=": expected the name of a file`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := collectives.ParseSpec(test.text)
			require.EqualError(t, err, test.says)
			require.EqualError(t, collectives.CheckOption(test.text), test.says)
		})
	}
}

func TestEveryOpHasAFloor(t *testing.T) {
	for _, op := range collectives.Ops {
		cfg, problems, err := config.Load([]config.Layer{{{Key: collectives.FloorKey(op), Value: "12.5", Source: "test"}}})
		require.NoError(t, err)
		require.Empty(t, problems, "no key for the floor of %s", op)
		floor, ok := cfg.Gate.Min.Of(string(op))
		require.True(t, ok, "no floor for %s", op)
		require.InDelta(t, 12.5, float64(floor), 0)
	}
}

// FuzzParseSpec checks that no text crashes the parser or gets a control
// character into its message, and that what it accepts the configuration takes.
func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{"allreduce,min=400,size=1G", "off", "all_reduce,report=x", "alreduce", ",", "\x00", "size=9999999999G"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := collectives.ParseSpec(text)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "\x1b")
			require.Less(t, len(err.Error()), 600)
			return
		}
		require.NotEqual(t, spec.Off, len(spec.Ops) > 0)
		_, _, err = config.Load(nil, spec.Layer())
		require.NoError(t, err)
	})
}
