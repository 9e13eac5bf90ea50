// Command verdict reads the stream of `go test -json` and says whether the tests
// passed. It is stricter than go test in two points: a skipped test fails unless
// the skip list names it with a reason, and a run without any test fails.
//
// Its last line is `N passed, N failed, N skipped`.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json PACKAGES | verdict SKIPLIST")
		os.Exit(2)
	}
	ok, err := judge(os.Stdin, os.Stdout, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func judge(stream io.Reader, out io.Writer, skipFile string) (bool, error) {
	skips, err := readSkips(skipFile)
	if err != nil {
		return false, err
	}
	t := newTally(out, skips)
	if err := t.read(stream); err != nil {
		return false, err
	}
	return t.close(), nil
}
