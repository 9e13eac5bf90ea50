package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// Sizes are the message sizes to measure: Min alone, or a sweep from Min to at
// most Max, each Factor times the one before, as nccl-tests takes them by -b, -e and -f.
type Sizes struct {
	Min, Max, Factor Bytes
}

// defaultFactor is the factor of a sweep that names none.
const defaultFactor = 2

// ParseSizes reads a size such as 16M, or a sweep such as 1M:1G or 1M:1G:4.
func ParseSizes(text string) (Sizes, error) {
	words := strings.Split(text, ":")
	if len(words) > 3 {
		return Sizes{}, notSizes(text)
	}
	least, err := ParseBytes(words[0])
	most, factor := least, uint64(defaultFactor)
	if err == nil && len(words) > 1 {
		most, err = ParseBytes(words[1])
	}
	if err == nil && len(words) > 2 {
		factor, err = strconv.ParseUint(words[2], 10, 31)
	}
	if err != nil || least < 1 || most < least || factor < 2 {
		return Sizes{}, notSizes(text)
	}
	return Sizes{Min: least, Max: most, Factor: Bytes(factor)}, nil
}

func notSizes(text string) error {
	return fmt.Errorf("%s is not a size such as 16M or a sweep such as 1M:1G:4", Quote(text))
}

// List gives the sizes, the smallest first.
func (s Sizes) List() []Bytes {
	var list []Bytes
	for size := s.Min; ; size *= s.Factor {
		list = append(list, size)
		if size > s.Max/s.Factor { // a product might overflow
			return list
		}
	}
}

// String writes the sizes so that ParseSizes reads them back.
func (s Sizes) String() string {
	switch {
	case s.Min == s.Max:
		return s.Min.String()
	case s.Factor == defaultFactor:
		return s.Min.String() + ":" + s.Max.String()
	default:
		return fmt.Sprintf("%s:%s:%d", s.Min, s.Max, int64(s.Factor))
	}
}
