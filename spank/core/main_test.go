package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	require.NoError(t, check("nccl-validate", "allreduce,min=400", nil))
	require.ErrorContains(t, check("nccl-validate", "alreduce", nil), `--nccl-validate: `)
	require.ErrorContains(t, check("nccl-validate", "alreduce", nil), `"allreduce"`)
	require.NoError(t, check("nccl-validate", "off", []string{"gate.default=allreduce"}))
	require.ErrorContains(t, check("nccl-validate", "off", []string{"gate.default=allreduce", "gate.enforce=yes"}), "gate.enforce")
	require.EqualError(t, check("nonsense", "x", nil), "--nonsense is not an option of this release of libpreflight.so")
}

func TestPanicBecomesAnError(t *testing.T) {
	require.EqualError(t, recovered(func() error { panic("at the disco") }),
		"the option could not be checked, please report this: at the disco")
	require.NoError(t, recovered(func() error { return nil }))
}
