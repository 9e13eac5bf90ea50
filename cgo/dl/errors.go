package dl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NotFoundError says that there is no such library.
type NotFoundError struct {
	// Name is the name or path that was asked for.
	Name string
}

// Error is a sentence for people.
func (e *NotFoundError) Error() string {
	if strings.Contains(e.Name, "/") {
		return fmt.Sprintf("library %s does not exist", e.Name)
	}
	return fmt.Sprintf("library %s was not found in the dynamic loader's search path", e.Name)
}

// LoadError says that a library exists but cannot be loaded.
type LoadError struct {
	// Name is the name or path that was asked for.
	Name string
	// Reason is what the dynamic loader said.
	Reason string
}

// Error is a sentence for people.
func (e *LoadError) Error() string {
	return fmt.Sprintf("library %s cannot be loaded: %s", e.Name, e.Reason)
}

// SymbolError says that a library lacks a function.
type SymbolError struct {
	// Path is the file that was loaded.
	Path string
	// Symbol is the function's name.
	Symbol string
}

// Error is a sentence for people.
func (e *SymbolError) Error() string {
	return fmt.Sprintf("library %s has no function %s: it is another library or too old a version", e.Path, e.Symbol)
}

const (
	missingFile = ": cannot open shared object file: No such file or directory"
)

// loadError sorts the dynamic loader's message: the library itself may be
// missing, or one that it needs, or the file may be unusable.
func loadError(name, message string) error {
	file, missing := strings.CutSuffix(message, missingFile)
	switch {
	case missing && file == name:
		return &NotFoundError{Name: name}
	case missing:
		return &LoadError{Name: name, Reason: fmt.Sprintf("it needs %s, which was not found", file)}
	default:
		return &LoadError{Name: name, Reason: strings.TrimPrefix(message, name+": ")}
	}
}

// sortedKeys makes the first missing symbol the same in every run.
func sortedKeys(symbols map[string]*uintptr) []string {
	return slices.Sorted(maps.Keys(symbols))
}
