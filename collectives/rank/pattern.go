package rank

import (
	"encoding/binary"
	"math"
)

// The values are small whole numbers, so that their sum over any number of
// ranks is exact in float32 in whatever order it is made: with 16,384 ranks it
// stays below 2^24. So the check needs no tolerance.
const (
	patternValues = 61
	rankValues    = 1024
)

// patternElements is the length after which the pattern repeats. One constant
// would hide a flipped address bit; a megabyte of small numbers does not. It is
// a prime, so that no block of a usual size that lands in a wrong place fits.
const patternElements = 262_147

// pattern scatters small values. It is not linear, so that a shift is seen too.
func pattern(i int) int {
	i %= patternElements
	return i * i * 40503 >> 7 % patternValues
}

// stretch is a run of elements of which number i is factor*pattern(first+i) + offset.
type stretch struct {
	count, first, factor, offset int
}

// content is the stretch as float32 values, or as much of it as does not repeat.
func (s stretch) content() []byte {
	elements := min(s.count, patternElements)
	data := make([]byte, 4*elements)
	for i := range elements {
		value := float32(s.factor*pattern(s.first+i) + s.offset)
		binary.NativeEndian.PutUint32(data[4*i:], math.Float32bits(value))
	}
	return data
}

// rankSum is the sum of rank%rankValues over all ranks.
func rankSum(ranks int) int {
	whole, rest := ranks/rankValues, ranks%rankValues
	return whole*rankValues*(rankValues-1)/2 + rest*(rest-1)/2
}
