// Package main is libpreflight.so, the Go half of the SPANK plugin. The C front
// loads it into srun, sbatch and salloc when one of our options is used, to
// refuse a mistake before the job is queued.
//
// It lives in a process that is not its own, so it starts no goroutine, touches
// no signal, and reads no environment variable: Go would see the environment of
// the process's start, not Slurm's. A panic must not end the host either.
package main

// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"

	"slurm-preflight/collectives"
)

// main is what a c-shared library must have; nobody calls it.
func main() {}

// checkers has the grammar of each option, by the option's name.
var checkers = map[string]func(value string, args ...string) error{
	"nccl-validate": collectives.CheckOption,
}

// preflight_check_option returns NULL for a good value, otherwise a sentence for
// the user, to be given back with preflight_free. The arguments are the plugin's
// in plugstack.conf.
//
//export preflight_check_option
func preflight_check_option(name, value *C.char, count C.int, arguments **C.char) *C.char {
	if err := recovered(func() error {
		var args []string
		for _, arg := range unsafe.Slice(arguments, count) {
			args = append(args, C.GoString(arg))
		}
		return check(C.GoString(name), C.GoString(value), args)
	}); err != nil {
		return C.CString("preflight: " + err.Error())
	}
	return nil
}

// preflight_free gives back what preflight_check_option returned.
//
//export preflight_free
func preflight_free(sentence *C.char) {
	C.free(unsafe.Pointer(sentence))
}

func check(name, value string, args []string) error {
	checker, known := checkers[name]
	if !known {
		return fmt.Errorf("--%s is not an option of this release of libpreflight.so", name)
	}
	if err := checker(value, args...); err != nil {
		return fmt.Errorf("--%s: %w", name, err)
	}
	return nil
}

// recovered is the one adapter between C and Go: a panic becomes an error,
// because it would end the user's sbatch otherwise.
func recovered(call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the option could not be checked, please report this: %v", cause)
		}
	}()
	return call()
}
