package main

import (
	"encoding/json"
	"io"
)

// writeJSON prints what a command found out, for programs. Every kind has a
// field "schema", whose value changes when a field changes its meaning.
func writeJSON(w io.Writer, facts any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(facts)
}
