package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxValue is the longest value that is read, in bytes: PATH_MAX, which is also
// where Slurm cuts a line of plugstack.conf.
const maxValue = 4096

// kind is one way to write a value.
type kind struct {
	expect string                        // what to tell whoever wrote it otherwise
	parse  func(text string) (any, bool) // the value, in the type of its field in Config
}

// sizes reads message sizes. A sweep over all of them, doubling, has 35.
func sizes(least, most Bytes) kind {
	return kind{
		fmt.Sprintf("a size from %s to %s, such as 16M, or a sweep such as 1M:1G or 1M:1G:4 (K, M and G are binary)", least, most),
		func(text string) (any, bool) {
			s, err := ParseSizes(text)
			return s, err == nil && least <= s.Min && s.Max <= most
		},
	}
}

func count(least, most int) kind {
	return kind{
		fmt.Sprintf("a whole number from %d to %d", least, most),
		func(text string) (any, bool) {
			n, err := strconv.ParseUint(text, 10, 31)
			return int(n), err == nil && least <= int(n) && int(n) <= most
		},
	}
}

func duration(least, most time.Duration) kind {
	return kind{
		fmt.Sprintf("a time from %s to %s with its unit, such as 90s or 2m", brief(least), brief(most)),
		func(text string) (any, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && least <= d && d <= most
		},
	}
}

// brief writes a round duration without its zeros: 24h, not 24h0m0s.
func brief(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// decimal keeps out what strconv.ParseFloat reads beyond plain decimals: signs,
// exponents, hexadecimal floats, infinities and NaN.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func bandwidth() kind {
	const most = 100_000 // more than any machine has; a slip of a few zeros is caught
	return kind{
		fmt.Sprintf("GB/s as a plain number from 0 to %d, such as 400 or 0.08", most),
		func(text string) (any, bool) {
			f, err := strconv.ParseFloat(text, 64)
			return GBps(f), err == nil && decimal.MatchString(text) && f <= most
		},
	}
}

func oneOf[T ~string](values ...T) kind {
	var words []string
	for _, v := range values {
		words = append(words, string(v))
	}
	return kind{
		strings.Join(words, " or "),
		func(text string) (any, bool) {
			for _, v := range values {
				if text == string(v) {
					return v, true
				}
			}
			return nil, false
		},
	}
}

// path is a file's name; it may be empty, and is absolute because the programs
// that read it run in directories of other people's choice.
func path() kind {
	return kind{
		"an absolute path, or nothing",
		func(text string) (any, bool) { return text, text == "" || filepath.IsAbs(text) },
	}
}

// interfaceList is the syntax of NCCL_SOCKET_IFNAME: prefixes of interface
// names, or whole names after "=", or all but those after "^".
var interfaceList = regexp.MustCompile(`^\^?=?[\w.:@-]{1,15}(,[\w.:@-]{1,15}){0,31}$`)

func interfaces() kind {
	return kind{
		"interface names as NCCL_SOCKET_IFNAME takes them, such as eth0 or =eth0 or ^lo,docker",
		func(text string) (any, bool) { return text, text == "" || interfaceList.MatchString(text) },
	}
}

// option is an option's argument, whose grammar is known to the package that acts on it.
func option() kind {
	const most = 1024
	return kind{
		fmt.Sprintf("what the option takes, without blanks and in %d bytes at most, such as allreduce,min=400", most),
		func(text string) (any, bool) { return text, len(text) <= most && !strings.Contains(text, " ") },
	}
}

// nameList has names as Slurm's partitions have them.
var nameList = regexp.MustCompile(`^[\w.+-]+(,[\w.+-]+)*$`)

func names() kind {
	return kind{
		"names with commas between them, such as gpu,debug, or nothing",
		func(text string) (any, bool) {
			if text == "" {
				return []string(nil), true
			}
			return strings.Split(text, ","), nameList.MatchString(text)
		},
	}
}

func yesNo() kind {
	return kind{"yes or no", func(text string) (any, bool) { return text == "yes", text == "yes" || text == "no" }}
}

func printable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
