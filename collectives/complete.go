package collectives

import (
	"slices"
	"strings"

	"slurm-preflight/internal/config"
)

// Words lists every word that the option knows: collectives, off, and settings with their "=".
func Words() []string {
	words := append(opNames(), off)
	for _, name := range settingNames() {
		words = append(words, name+"=")
	}
	return words
}

// Complete offers ways to go on with an unfinished option, for a shell: each
// repeats what is there and ends in a whole word.
func Complete(text string) []string {
	before, word := "", text
	if comma := strings.LastIndexByte(text, ','); comma >= 0 {
		before, word = text[:comma+1], text[comma+1:]
	}
	var found []string
	for _, candidate := range candidates(word) {
		if strings.HasPrefix(candidate, word) && !isGiven(before, candidate) && (before == "" || candidate != off) {
			found = append(found, before+candidate)
		}
	}
	return found
}

// candidates are whole words, or values where a setting was begun that has a few.
func candidates(word string) []string {
	key, _, isSetting := strings.Cut(word, "=")
	if !isSetting {
		return Words()
	}
	var values []string
	for _, choice := range config.Choices(tunable[key]) {
		values = append(values, key+"="+choice)
	}
	return values
}

// isGiven says whether a word's like stands in the finished part of the list.
func isGiven(before, candidate string) bool {
	key, _, _ := strings.Cut(candidate, "=")
	return slices.ContainsFunc(strings.Split(before, ","), func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return name == key
	})
}
