// Package protocol is what the conductor and its supervisors say to each other:
// JSON messages, cut into frames that survive the way through srun.
//
// srun hands its standard input to every task whole, but cuts a task's output
// lines at 1,024 bytes and mixes the pieces with those of other tasks, and a
// site's TaskProlog may print into the same stream (both measured). So a frame
// is one line of at most MaxFrame bytes that can be recognised anywhere in a
// line, a longer message travels in several frames, and whatever is not a whole
// frame is noise that blames nobody:
//
//	pf1 NONCE SENDER SEQUENCE PART/PARTS CRC32 CHUNK
package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"sync"
)

const (
	// MaxFrame is the longest frame in bytes, its line feeds included.
	MaxFrame = 1000
	// maxChunk leaves room for the header: magic, nonce, sender and five numbers.
	maxChunk = MaxFrame - 176
	// MaxParts bounds one message to about 3 MB.
	MaxParts = 4096
	// MaxName bounds a nonce and a sender's name, so that a header always fits.
	MaxName = 64

	magic = "pf1 "
)

// Writer sends messages as frames. It may be used by several goroutines.
type Writer struct {
	nonce, sender string

	mu       sync.Mutex
	out      io.Writer
	sequence int
}

// NewWriter returns a Writer that signs its frames with nonce and sender, which
// hold no blanks and at most MaxName bytes each.
func NewWriter(out io.Writer, nonce, sender string) *Writer {
	return &Writer{nonce: nonce, sender: sender, out: out}
}

// Send writes one message. Each frame is one write that begins with a line feed
// of its own, so that a half line printed by somebody else cannot spoil it.
func (w *Writer) Send(message Message) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	parts := (len(body) + maxChunk - 1) / maxChunk
	if parts > MaxParts {
		return fmt.Errorf("message of %d bytes is over the limit of %d", len(body), MaxParts*maxChunk)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sequence++
	for part := 1; part <= parts; part++ {
		chunk := body[(part-1)*maxChunk : min(part*maxChunk, len(body))]
		frame := fmt.Sprintf("\n%s%s %s %d %d/%d %08x %s\n",
			magic, w.nonce, w.sender, w.sequence, part, parts, crc32.ChecksumIEEE(chunk), chunk)
		if _, err := io.WriteString(w.out, frame); err != nil {
			return fmt.Errorf("send message: %w", err)
		}
	}
	return nil
}

// frame is one line of the stream, taken apart.
type frame struct {
	sender      string
	sequence    int
	part, parts int
	chunk       []byte
}

// parseFrame finds the frame with our nonce in a line, which may begin with
// somebody else's text. It reports false for everything that is not one.
func parseFrame(line []byte, nonce string) (frame, bool) {
	start := bytes.LastIndex(line, []byte(magic+nonce+" "))
	if start < 0 {
		return frame{}, false
	}
	fields := bytes.SplitN(line[start:], []byte(" "), 7)
	if len(fields) != 7 {
		return frame{}, false
	}
	f := frame{sender: string(fields[2]), chunk: fields[6]}
	part, parts, ok := bytes.Cut(fields[4], []byte("/"))
	if !ok || len(f.sender) == 0 || len(f.sender) > MaxName {
		return frame{}, false
	}
	sum, err := strconv.ParseUint(string(fields[5]), 16, 32)
	if err != nil || uint32(sum) != crc32.ChecksumIEEE(f.chunk) {
		return frame{}, false
	}
	f.sequence, f.part, f.parts = number(fields[3]), number(part), number(parts)
	return f, f.sequence > 0 && f.part > 0 && f.part <= f.parts && f.parts <= MaxParts
}

// number reads a positive decimal number; anything else is 0.
func number(text []byte) int {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int(n)
}
