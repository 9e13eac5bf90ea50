package collectives_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/collectives"
)

func TestComplete(t *testing.T) {
	require.Equal(t, collectives.Words(), collectives.Complete(""))
	for text, want := range map[string][]string{
		"allred":                 {"allreduce"},
		"o":                      {"off", "on-fail="},
		"allreduce,o":            {"allreduce,on-fail="},
		"allreduce,on-fail=":     {"allreduce,on-fail=fail", "allreduce,on-fail=warn"},
		"allreduce,on-fail=w":    {"allreduce,on-fail=warn"},
		"allreduce,min=":         nil,
		"allreduce,x":            nil,
		"allreduce,size=1M,ti":   {"allreduce,size=1M,timeout="},
		"allreduce,size=1M,size": nil,
	} {
		require.Subset(t, collectives.Complete(text), want, "%q", text)
		if want == nil {
			require.Empty(t, collectives.Complete(text), "%q", text)
		}
	}
	require.False(t, slices.Contains(collectives.Complete("allreduce,"), "allreduce,allreduce"), "given already")
	require.False(t, slices.Contains(collectives.Complete("allreduce,"), "allreduce,off"), "off stands alone")
}
