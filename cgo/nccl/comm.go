package nccl

/*
#include "nccl.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"
)

// How long Destroy waits for operations that are still queued, and how often it looks.
const (
	finalizeTimeout = 10 * time.Second
	finalizePoll    = time.Millisecond
)

// Comm is one rank's communicator. AsyncError and Abort may be called while
// another goroutine is in any method; after Abort and Destroy every method
// returns ErrClosed.
type Comm struct {
	library *Library
	closed  atomic.Bool
	// cell holds the handle in C memory, because the library may clear it
	// later, from a thread of its own. It is 8 bytes and never freed, so
	// that no late writer or reader meets freed memory.
	cell *unsafe.Pointer
}

func newComm(library *Library) *Comm {
	return &Comm{library: library, cell: (*unsafe.Pointer)(C.calloc(1, C.size_t(unsafe.Sizeof(uintptr(0)))))}
}

// initialised is the end of Init: a communicator that failed is aborted, so that the library can free it.
func (c *Comm) initialised(call string, result C.int) (*Comm, error) {
	err := c.library.failure(call, result, nil)
	if err == nil {
		return c, nil
	}
	if c.handle() != nil {
		err = errors.Join(err, c.Abort())
	}
	return nil, err
}

func (c *Comm) handle() unsafe.Pointer { return atomic.LoadPointer(c.cell) }

// AsyncError tells how the communicator is: nil when it is ready and well,
// ErrInProgress while it is being initialised, otherwise an *Error. It never blocks.
func (c *Comm) AsyncError() error {
	if c.closed.Load() {
		return ErrClosed
	}
	const call = "ncclCommGetAsyncError"
	handle := c.handle()
	var state C.int
	result := C.nccl_get_async_error(C.uintptr_t(c.library.call.getAsyncError), handle, &state)
	if err := c.library.failure(call, result, handle); err != nil {
		return err
	}
	if state == inProgress {
		return ErrInProgress
	}
	return c.library.failure(call, state, handle)
}

// Abort ends the communicator at once, whatever state it is in.
func (c *Comm) Abort() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	result := C.nccl_on_comm(C.uintptr_t(c.library.call.abort), c.handle())
	return c.library.failure("ncclCommAbort", result, nil)
}

// Destroy leaves the communicator in good order, after the operations that
// are queued. When they do not end within 10 s it returns an error, and the
// communicator is still to be aborted.
func (c *Comm) Destroy() error {
	if c.closed.Load() {
		return ErrClosed
	}
	if err := c.finalize(); err != nil {
		return err
	}
	if c.closed.Swap(true) {
		return ErrClosed
	}
	result := C.nccl_on_comm(C.uintptr_t(c.library.call.destroy), c.handle())
	return c.library.failure("ncclCommDestroy", result, nil)
}

func (c *Comm) finalize() error {
	if c.library.call.finalize == 0 {
		return nil
	}
	handle := c.handle()
	result := C.nccl_on_comm(C.uintptr_t(c.library.call.finalize), handle)
	if err := c.library.failure("ncclCommFinalize", result, handle); err != nil {
		return err
	}
	deadline := time.Now().Add(finalizeTimeout)
	poll := time.NewTicker(finalizePoll)
	defer poll.Stop()
	for {
		err := c.AsyncError()
		if !errors.Is(err, ErrInProgress) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("operations did not end within %v of ncclCommFinalize: %w", finalizeTimeout, err)
		}
		<-poll.C
	}
}
