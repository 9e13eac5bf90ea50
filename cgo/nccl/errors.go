package nccl

/*
#include "nccl.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Result codes of NCCL that this package must know.
const (
	success    = 0
	inProgress = 7
)

// ErrInProgress says that the last operation on the communicator has not been
// carried out yet; ask again.
var ErrInProgress = errors.New("the communicator's last operation is still in progress")

// ErrClosed says that the communicator has been destroyed or aborted.
var ErrClosed = errors.New("the communicator is closed")

// Error is a failure that the library reported.
type Error struct {
	// Call is the C function, for example "ncclAllReduce".
	Call string
	// Code is the ncclResult_t.
	Code int
	// Name is the library's text for the code.
	Name string
	// Detail is the library's last error message; it may be empty.
	Detail string
}

// Error is a sentence for people.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (code %d)", e.Call, e.Name, e.Code)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// failure turns a result code into nil or an *Error. An operation in progress is no failure.
func (l *Library) failure(call string, result C.int, comm unsafe.Pointer) error {
	if result == success || result == inProgress {
		return nil
	}
	name := C.nccl_get_error_string(C.uintptr_t(l.call.getErrorString), result)
	return &Error{Call: call, Code: int(result), Name: C.GoString(name), Detail: l.lastError(comm)}
}

func (l *Library) lastError(comm unsafe.Pointer) string {
	if l.call.getLastErr == 0 {
		return ""
	}
	return C.GoString(C.nccl_get_last_error(C.uintptr_t(l.call.getLastErr), comm))
}
