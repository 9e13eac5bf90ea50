package config

import (
	"fmt"
	"math"
	"strconv"
)

// Bytes is a number of bytes. It is written as nccl-tests writes it: digits and
// an optional K, M or G, which are powers of 1,024.
type Bytes int64

// units lists the suffixes, largest first.
var units = []struct {
	suffix byte
	size   Bytes
}{{'G', 1 << 30}, {'M', 1 << 20}, {'K', 1 << 10}}

// ParseBytes reads a size such as 16M; the suffix may be small.
func ParseBytes(text string) (Bytes, error) {
	digits, unit := text, Bytes(1)
	if n := len(text); n > 0 {
		for _, u := range units {
			if text[n-1] == u.suffix || text[n-1] == u.suffix+'a'-'A' {
				digits, unit = text[:n-1], u.size
			}
		}
	}
	count, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || Bytes(count) > math.MaxInt64/unit {
		return 0, fmt.Errorf("%s is not a size such as 16M", Quote(text))
	}
	return Bytes(count) * unit, nil
}

// String writes the size with the largest suffix that loses nothing, so that ParseBytes reads it back.
func (b Bytes) String() string {
	for _, u := range units {
		if b != 0 && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + string(u.suffix)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
