package config

import (
	"strconv"
	"strings"
)

// Nearest finds the known word that somebody who typed word most likely meant.
// It finds none when every known word differs in more than a third.
func Nearest(word string, known []string) (string, bool) {
	best, found := len(word)/3+1, ""
	for _, k := range known {
		if strings.HasSuffix(k, "."+word) {
			return k, true
		}
		if d := distance(strings.ToLower(word), k); d < best || d == best && found == "" {
			best, found = d, k
		}
	}
	return found, found != ""
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	var before []int // the row before previous
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(previous[j+1], row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], previous[j])
			} else {
				row[j+1] = min(row[j+1], previous[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}

// maxQuoted is how much of an untrusted word a message repeats, in bytes.
const maxQuoted = 60

// Quote shows text of unknown origin in a message: in quotes, escaped and of bounded length.
func Quote(text string) string {
	if len(text) > maxQuoted {
		return strconv.Quote(text[:maxQuoted]) + "…"
	}
	return strconv.Quote(text)
}
