package rank

import (
	"bytes"
	"fmt"
	"slices"
)

// buffers are the send and the receive memory of one operation and size.
type buffers struct {
	place
	layout
	sendMemory, recvMemory uintptr
}

// memory is the part of a Device that moves bytes.
type memory interface {
	Alloc(bytes int) (uintptr, error)
	Free(memory uintptr) error
	Upload(to uintptr, from []byte) error
	Download(to []byte, from uintptr) error
}

// newBuffers allocates and fills the memory of this rank's part in an operation.
func newBuffers(m memory, p place) (*buffers, error) {
	b := &buffers{place: p, layout: p.layout()}
	if b.room == 0 {
		return nil, fmt.Errorf("this rank cannot measure %q", p.op)
	}
	var err error
	if b.sendMemory, err = m.Alloc(4 * b.send.count); err != nil {
		return nil, fmt.Errorf("allocate %d bytes to send: %w", 4*b.send.count, err)
	}
	if b.recvMemory, err = m.Alloc(4 * b.room); err != nil {
		return nil, fmt.Errorf("allocate %d bytes to receive: %w", 4*b.room, err)
	}
	return b, repeat(4*b.send.count, b.send.content(), func(offset int, data []byte) error {
		return m.Upload(b.sendMemory+uintptr(offset), data)
	})
}

func (b *buffers) free(m memory) error {
	if err := m.Free(b.sendMemory); err != nil {
		return err
	}
	return m.Free(b.recvMemory)
}

// spoil writes a value that is never sent over the receive buffer.
func (b *buffers) spoil(m memory) error {
	data := bytes.Repeat([]byte{0xff}, 4*min(b.room, patternElements))
	return repeat(4*b.room, data, func(offset int, data []byte) error {
		return m.Upload(b.recvMemory+uintptr(offset), data)
	})
}

// wrong counts the elements of the receive buffer that are not what they must be.
func (b *buffers) wrong(m memory) (int64, error) {
	var count int64
	got := make([]byte, 4*min(b.room, patternElements))
	from := b.recvMemory
	for _, want := range b.recv {
		err := repeat(4*want.count, want.content(), func(offset int, data []byte) error {
			received := got[:len(data)]
			if err := m.Download(received, from+uintptr(offset)); err != nil {
				return err
			}
			if !bytes.Equal(received, data) {
				count += differing(received, data)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		from += uintptr(4 * want.count)
	}
	return count, nil
}

// repeat covers a length with copies of data, the last of them shortened.
func repeat(length int, data []byte, visit func(offset int, data []byte) error) error {
	for offset := 0; offset < length; offset += len(data) {
		if err := visit(offset, data[:min(len(data), length-offset)]); err != nil {
			return err
		}
	}
	return nil
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
