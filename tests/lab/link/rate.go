// Package link makes the lab's network: one bridge, one pair of virtual
// Ethernet ends per node, both shaped with tc's token bucket filter, so that a
// slow link is really slow.
package link

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Rate is a link's speed in bits per second.
type Rate uint64

// Bounds of what the token bucket can be asked for.
const (
	MinRate Rate = 100_000
	MaxRate Rate = 400_000_000_000
)

var rateForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(|k|m|g)(?:bit(?:/s|ps)?)?$`)

// ParseRate reads a rate as tc writes it: 200mbit, 1gbit, 2.5gbit.
func ParseRate(text string) (Rate, error) {
	m := rateForm.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return 0, fmt.Errorf("%q is no rate: write 200mbit or 1gbit", text)
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no rate: %w", text, err)
	}
	number *= map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[m[2]]
	if number < float64(MinRate) || number > float64(MaxRate) {
		return 0, fmt.Errorf("rate %s is out of bounds: a link has %s to %s", text, MinRate, MaxRate)
	}
	return Rate(math.Round(number)), nil
}

// String is the rate as tc writes it.
func (r Rate) String() string {
	for _, unit := range []struct {
		size Rate
		name string
	}{{1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}} {
		if r >= unit.size {
			return strconv.FormatFloat(float64(r)/float64(unit.size), 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatUint(uint64(r), 10) + "bit"
}

// Set makes a Rate a flag's value.
func (r *Rate) Set(text string) error {
	parsed, err := ParseRate(text)
	if err == nil {
		*r = parsed
	}
	return err
}

// Type names the flag's kind in its help.
func (*Rate) Type() string { return "rate" }
