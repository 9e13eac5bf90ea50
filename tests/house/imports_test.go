package house

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs are the rooms that nothing else may import.
var programs = []string{"cmd", "prolog", "epilog", "enroot-hooks", "spank", "tests"}

// rules say, room by room, what a package there may not import. The first room
// that a package stands in counts.
var rules = []struct {
	room   string
	closed []string
	why    string
}{
	{"internal/check", rooms(programs, "cgo"), "checks are pure Go below the programs"},
	{"internal", rooms(programs, "cgo", "collectives", "checkpoint", "internal/check"), "internal is the lowest layer"},
	{"collectives", rooms(programs, "cgo", "checkpoint", "internal/check"), "the gate's thinking is pure Go and stands alone"},
	{"checkpoint", rooms(programs, "cgo", "collectives", "internal/check"), "checkpoints are pure Go and stand alone"},
	{"cgo", rooms(programs, "collectives", "checkpoint"), "cgo offers C libraries to Go and knows no use of them"},
	{"spank", []string{"cgo", "cmd", "tests"}, "the core lives in sbatch and srun and loads no other C library"},
	{"tests", nil, ""},
	{"", []string{"tests"}, "nothing in the product knows that it is being tested"},
}

func rooms(list []string, more ...string) []string {
	return append(append([]string{}, list...), more...)
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if why := forbidden(p.path(), imported); why != "" {
				t.Errorf("%s imports %s: %s", p.path(), trimModule(imported), why)
			}
		}
	}
}

// forbidden says why a package may not import another one, or "".
func forbidden(path, imported string) string {
	if !strings.HasPrefix(imported, module+"/") {
		return ""
	}
	target := trimModule(imported)
	for _, rule := range rules {
		if rule.room != "" && !within(path, rule.room) {
			continue
		}
		if within(target, rule.closed...) {
			return rule.why
		}
		return ""
	}
	return ""
}

func TestForbidden(t *testing.T) {
	for _, test := range []struct {
		from, to string
		ok       bool
	}{
		{"cmd/preflight", "collectives", true},
		{"cmd/preflight-worker", "cgo/nccl", true},
		{"cmd/preflight", "internal/check", true},
		{"cmd/preflight", "tests/lab", false},
		{"collectives", "internal/slurm", true},
		{"collectives/conductor", "collectives", true},
		{"collectives", "cmd/preflight", false},
		{"collectives", "cgo/nccl", false},
		{"internal/config", "internal/exitcode", true},
		{"internal/config", "collectives", false},
		{"internal/config", "internal/check", false},
		{"internal/check", "internal/config", true},
		{"internal/check", "cgo/nccl", false},
		{"cgo/nccl", "cgo/dl", true},
		{"cgo/nccl", "collectives", false},
		{"spank/core", "collectives", true},
		{"spank/core", "cgo/nccl", false},
		{"tests/e2e", "tests/lab", true},
		{"tests/house", "cgo/nccl", true},
	} {
		require.Equal(t, test.ok, forbidden(test.from, module+"/"+test.to) == "", "%s imports %s", test.from, test.to)
	}
	require.Empty(t, forbidden("internal/config", "github.com/spf13/cobra"))
}

func TestOnlyCgoAndTheCoreSpeakC(t *testing.T) {
	for _, file := range sources(t) {
		for _, spec := range file.tree.Imports {
			if spec.Path.Value == `"C"` && !within(file.dir(), "cgo", "spank/core") {
				t.Errorf(`%s imports "C": only spank/core and cgo/ may`, file.name)
			}
		}
	}
	for _, name := range files(t) {
		if isC(name) && !within(name, "spank", "cgo", "tests") {
			t.Errorf("%s: C and C++ stand in spank/, cgo/ and tests/ alone", name)
		}
	}
}

func isC(name string) bool {
	for _, suffix := range []string{".c", ".h", ".cc", ".cpp", ".hpp"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
