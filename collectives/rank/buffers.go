package rank

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// blockElements is the length of the pattern that fills a buffer. One constant
// would hide a flipped address bit; a megabyte of small numbers does not.
const blockElements = 1 << 18

// The values are small whole numbers, so that their sum over any number of
// ranks is exact in float32 in whatever order it is made: with 16,384 ranks it
// stays below 2^24. So the check needs no tolerance.
const (
	patternValues = 61 // a prime, so that the pattern does not repeat at a power of two
	rankValues    = 16
)

// buffers are the send and the receive memory of one message size.
type buffers struct {
	send, recv uintptr
	count      int
}

// memory is the part of a Device that moves bytes.
type memory interface {
	Alloc(bytes int) (uintptr, error)
	Free(memory uintptr) error
	Upload(to uintptr, from []byte) error
	Download(to []byte, from uintptr) error
}

func newBuffers(m memory, count, rank int) (*buffers, error) {
	if count < 1 {
		return nil, fmt.Errorf("a message of %d elements cannot be measured", count)
	}
	b := &buffers{count: count}
	var err error
	if b.send, err = m.Alloc(b.bytes()); err != nil {
		return nil, fmt.Errorf("allocate %d bytes to send: %w", b.bytes(), err)
	}
	if b.recv, err = m.Alloc(b.bytes()); err != nil {
		return nil, fmt.Errorf("allocate %d bytes to receive: %w", b.bytes(), err)
	}
	return b, b.fill(m, b.send, block(min(count, blockElements), 1, rank%rankValues))
}

func (b *buffers) bytes() int { return b.count * 4 }

func (b *buffers) free(m memory) error {
	if err := m.Free(b.send); err != nil {
		return err
	}
	return m.Free(b.recv)
}

// spoil writes a value that no sum has over the receive buffer.
func (b *buffers) spoil(m memory) error {
	return b.fill(m, b.recv, bytes.Repeat([]byte{0xff}, min(b.bytes(), 4*blockElements)))
}

// fill repeats a block over one buffer.
func (b *buffers) fill(m memory, to uintptr, block []byte) error {
	for offset := 0; offset < b.bytes(); offset += len(block) {
		length := min(len(block), b.bytes()-offset)
		if err := m.Upload(to+uintptr(offset), block[:length]); err != nil {
			return err
		}
	}
	return nil
}

// wrong counts the elements of the receive buffer that are not the sum over all ranks.
func (b *buffers) wrong(m memory, ranks int) (int64, error) {
	want := block(min(b.count, blockElements), ranks, rankSum(ranks))
	got := make([]byte, len(want))
	var count int64
	for offset := 0; offset < b.bytes(); offset += len(want) {
		length := min(len(want), b.bytes()-offset)
		if err := m.Download(got[:length], b.recv+uintptr(offset)); err != nil {
			return 0, err
		}
		if !bytes.Equal(got[:length], want[:length]) {
			count += differing(got[:length], want[:length])
		}
	}
	return count, nil
}

func differing(got, want []byte) int64 {
	var count int64
	for pair := range slices.Chunk(got, 4) {
		if !bytes.Equal(pair, want[:4]) {
			count++
		}
		want = want[4:]
	}
	return count
}

// block holds factor*pattern(i) + offset as float32, which is one rank's data
// with factor 1, and the sum over all ranks with their number and rankSum.
func block(elements, factor, offset int) []byte {
	data := make([]byte, 4*elements)
	for i := range elements {
		value := float32(factor*pattern(i) + offset)
		binary.NativeEndian.PutUint32(data[4*i:], math.Float32bits(value))
	}
	return data
}

// pattern scatters small values by a multiplicative hash.
func pattern(i int) int { return i * 40503 >> 7 % patternValues }

// rankSum is the sum of rank%rankValues over all ranks.
func rankSum(ranks int) int {
	whole, rest := ranks/rankValues, ranks%rankValues
	return whole*rankValues*(rankValues-1)/2 + rest*(rest-1)/2
}
