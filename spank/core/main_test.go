package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	require.NoError(t, check("nccl-validate", "allreduce,min=400"))
	require.ErrorContains(t, check("nccl-validate", "alreduce"), `--nccl-validate: `)
	require.ErrorContains(t, check("nccl-validate", "alreduce"), `"allreduce"`)
	require.EqualError(t, check("nonsense", "x"), "--nonsense is not an option of this release of libpreflight.so")
}

func TestPanicBecomesAnError(t *testing.T) {
	require.EqualError(t, recovered(func() error { panic("at the disco") }),
		"the option could not be checked, please report this: at the disco")
	require.NoError(t, recovered(func() error { return nil }))
}
