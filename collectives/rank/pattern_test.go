package rank

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumsAreExact(t *testing.T) {
	const exact = 1 << 24 // where float32 begins to leave out whole numbers
	for _, ranks := range []int{1, 2, 1023, 1024, 1025, 16_384} {
		sum := 0
		for rank := range ranks {
			sum += rank % rankValues
		}
		require.Equal(t, sum, rankSum(ranks), "%d ranks", ranks)
		require.Less(t, sum+ranks*(patternValues-1), exact, "%d ranks", ranks)
	}
}

// A block that was shifted by any usual distance must not fit.
func TestPatternHasNoShiftThatFits(t *testing.T) {
	const elements = 4096
	for _, shift := range []int{1, 2, 4, 16, 61, 64, 128, 1024, 4096, 1 << 16, 1 << 18, 1 << 20, 1 << 26, 1_398_100} {
		equal := 0
		for i := range elements {
			if pattern(i) == pattern(i+shift) {
				equal++
			}
		}
		require.Less(t, equal, elements/10, "shifted by %d", shift)
	}
}
