package house

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Half the files and functions are short, nine in ten are of a readable length.
// A long one is an exception with a reason, never a habit.
const (
	fileMedian, fileP90, fileMax = 120, 400, 600
	functionP90, functionMax     = 45, 100
)

func TestFilesAreShort(t *testing.T) {
	var lengths []int
	for _, file := range sources(t) {
		if file.isTest() || within(file.name, "tests") {
			continue
		}
		n := file.lines()
		lengths = append(lengths, n)
		require.LessOrEqual(t, n, fileMax, "%s has %d lines: split it by meaning", file.name, n)
	}
	require.LessOrEqual(t, percentile(lengths, 50), fileMedian, "the median of a file's lines")
	require.LessOrEqual(t, percentile(lengths, 90), fileP90, "nine in ten files")
}

func TestFunctionsAreShort(t *testing.T) {
	var lengths []int
	for _, file := range sources(t) {
		if file.isTest() {
			continue
		}
		for _, decl := range file.tree.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := file.span(function)
			lengths = append(lengths, n)
			require.LessOrEqual(t, n, functionMax, "%s: %s has %d lines", file.name, function.Name.Name, n)
		}
	}
	require.LessOrEqual(t, percentile(lengths, 90), functionP90, "nine in ten functions")
}

func percentile(numbers []int, percent int) int {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[(len(sorted)-1)*percent/100]
}
