package loader

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The front and the programs must mean the same by a number.
func TestExitCodesAgree(t *testing.T) {
	ours := goCodes(t, "../../internal/exitcode/exitcode.go")
	require.NotEmpty(t, ours)
	require.Equal(t, ours, cCodes(t, "../../spank/exitcode.h"))
}

// goCodes has every constant of a Go file, its name in capitals.
func goCodes(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	codes := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			codes[strings.ToUpper(spec.Names[0].Name)] = spec.Values[0].(*ast.BasicLit).Value
		}
		return true
	})
	return codes
}

// cCodes has every #define EXITCODE_NAME NUMBER of a header.
func cCodes(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	codes := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^#define EXITCODE_(\w+)\s+(\d+)`).FindAllStringSubmatch(string(text), -1) {
		codes[match[1]] = match[2]
	}
	return codes
}
