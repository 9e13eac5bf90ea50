// Command preflight measures a job's own nodes before the job's program starts,
// and answers the administrator's questions about it. `preflight help` lists
// what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"slurm-preflight/internal/exitcode"
)

// version is set by the linker.
var version = "0.1.0"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	addCompletion(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	exit := exitError{code: exitcode.Unavailable, err: err} // what nobody classified could not be done
	errors.As(err, &exit)
	if exit.err != nil {
		fmt.Fprintln(stderr, "preflight:", exit.err)
	}
	return exit.code
}

// exitError is an error that knows the exit code of the program. Without a
// cause it sets the code alone: everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's: exit code 64.
func usage(err error) error {
	return exitError{code: exitcode.Usage, err: err}
}
