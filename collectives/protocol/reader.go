package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
)

// maxLine is how much of a line is looked at. It is more than srun lets through
// at once, so that a frame behind a stranger's text is still found.
const maxLine = 4096

// Reader finds messages in a stream that others write to as well.
type Reader struct {
	nonce   string
	in      *bufio.Reader
	log     *slog.Logger
	partial map[string]*partial
}

// partial is a message of which some frames have come.
type partial struct {
	sequence, next, parts int
	body                  []byte
}

// NewReader returns a Reader for frames with this nonce. Noise goes to log at debug level.
func NewReader(in io.Reader, nonce string, log *slog.Logger) *Reader {
	return &Reader{nonce: nonce, in: bufio.NewReaderSize(in, maxLine), log: log, partial: map[string]*partial{}}
}

// Next returns the next whole message and its sender. It ends with io.EOF.
func (r *Reader) Next() (sender string, message Message, err error) {
	for {
		line, err := r.line()
		if err != nil {
			return "", Message{}, err
		}
		f, ok := parseFrame(line, r.nonce)
		if !ok {
			if len(bytes.TrimSpace(line)) > 0 {
				r.log.Debug("not a frame", "line", string(line[:min(len(line), 200)]))
			}
			continue
		}
		body, whole := r.assemble(f)
		if !whole {
			continue
		}
		message, err := decode(body)
		if err != nil {
			r.log.Debug("not a message", "sender", f.sender, "error", err)
			continue
		}
		return f.sender, message, nil
	}
}

// line reads up to the next line feed; what is over maxLine is dropped from the
// front, because a frame can only stand at the end.
func (r *Reader) line() ([]byte, error) {
	var tail []byte
	for {
		piece, err := r.in.ReadSlice('\n')
		tail = append(tail, piece...)
		if len(tail) > maxLine {
			tail = tail[len(tail)-maxLine:]
		}
		switch {
		case err == nil:
			return bytes.TrimRight(tail, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(tail) > 0:
			return tail, nil
		default:
			return nil, err
		}
	}
}

// assemble adds a frame to its message and returns the body once it is whole.
// Frames of one sender come in order; a gap means that something was lost, and
// the message with it.
func (r *Reader) assemble(f frame) ([]byte, bool) {
	p := r.partial[f.sender]
	if f.part == 1 {
		p = &partial{sequence: f.sequence, next: 1, parts: f.parts}
		r.partial[f.sender] = p
	}
	if p == nil || p.sequence != f.sequence || p.next != f.part || p.parts != f.parts {
		r.log.Debug("frame out of order", "sender", f.sender, "sequence", f.sequence, "part", f.part)
		delete(r.partial, f.sender)
		return nil, false
	}
	p.body = append(p.body, f.chunk...)
	p.next++
	if f.part < f.parts {
		return nil, false
	}
	delete(r.partial, f.sender)
	return p.body, true
}

func decode(body []byte) (Message, error) {
	var message Message
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&message)
	return message, err
}
