package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "slurm-preflight"
)

// listed is what `go list -json` says of a package of ours.
type listed struct {
	ImportPath  string
	Name        string
	Imports     []string
	TestImports []string
}

// path is the package's place in the tree, such as internal/config.
func (p listed) path() string { return trimModule(p.ImportPath) }

func trimModule(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func packages(t *testing.T) []listed {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(command(t, "go", "list", "-json=ImportPath,Name,Imports,TestImports", "./...")))
	var all []listed
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, all)
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// files lists what belongs to the tree, committed or about to be.
func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	args := []string{"-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}
	var found []string
	for name := range strings.SplitSeq(string(command(t, "git", append(args, patterns...)...)), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); name != "" && err == nil && info.Mode().IsRegular() {
			found = append(found, name)
		}
	}
	require.NotEmpty(t, found, "no file matches %v", patterns)
	return found
}

func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s", name, args, complaint.String())
	return out
}

type source struct {
	name string // from the root of the tree
	tree *ast.File
	set  *token.FileSet
}

func (s source) dir() string { return filepath.ToSlash(filepath.Dir(s.name)) }

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s source) lines() int { return s.set.File(s.tree.Pos()).LineCount() }

// span counts the lines from a node's begin to its end.
func (s source) span(node ast.Node) int {
	return s.set.Position(node.End()).Line - s.set.Position(node.Pos()).Line + 1
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range files(t, "*.go") {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.ParseComments)
		require.NoError(t, err)
		all = append(all, source{name, tree, set})
	}
	return all
}

// within says whether a path is one of the rooms or inside one.
func within(path string, rooms ...string) bool {
	for _, room := range rooms {
		if path == room || strings.HasPrefix(path, room+"/") {
			return true
		}
	}
	return false
}
