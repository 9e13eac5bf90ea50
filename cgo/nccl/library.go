// Package nccl calls a collective library through NCCL's C API: libnccl.so.2,
// librccl.so.1 or this project's libhostccl.so. The library is opened at run
// time, and functions that only newer versions have are used where they exist.
//
// Buffers, streams and handles are plain uintptr: they are addresses in the
// device's or the library's memory, never in Go's. A library that drives GPUs
// looks at the calling thread's current device, so its callers lock the
// goroutine to its thread.
package nccl

/*
#cgo CFLAGS: -Wall -Wextra -Werror
#include "nccl.h"
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"slurm-preflight/cgo/dl"
)

// functions are the addresses of the library's functions. The optional ones
// are 0 where the library lacks them.
type functions struct {
	getVersion, getUniqueID, initRank    uintptr
	destroy, abort                       uintptr
	getAsyncError, getErrorString        uintptr
	allReduce, allGather, reduceScatter  uintptr
	broadcast, reduce                    uintptr
	groupStart, groupEnd, send, recv     uintptr
	initRankConfig, finalize, getLastErr uintptr
}

// Library is an open collective library. It is never closed, because such
// libraries keep threads of their own.
type Library struct {
	path string
	call functions
}

// Open loads the library of that name or path. The error is one of package dl's.
func Open(path string) (*Library, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Library{path: lib.Path()}
	err = lib.Bind(map[string]*uintptr{
		"ncclGetVersion":        &l.call.getVersion,
		"ncclGetUniqueId":       &l.call.getUniqueID,
		"ncclCommInitRank":      &l.call.initRank,
		"ncclCommDestroy":       &l.call.destroy,
		"ncclCommAbort":         &l.call.abort,
		"ncclCommGetAsyncError": &l.call.getAsyncError,
		"ncclGetErrorString":    &l.call.getErrorString,
		"ncclAllReduce":         &l.call.allReduce,
		"ncclAllGather":         &l.call.allGather,
		"ncclReduceScatter":     &l.call.reduceScatter,
		"ncclBroadcast":         &l.call.broadcast,
		"ncclReduce":            &l.call.reduce,
		"ncclGroupStart":        &l.call.groupStart,
		"ncclGroupEnd":          &l.call.groupEnd,
		"ncclSend":              &l.call.send,
		"ncclRecv":              &l.call.recv,
	})
	if err != nil {
		return nil, err
	}
	lib.BindOptional(map[string]*uintptr{
		"ncclCommInitRankConfig": &l.call.initRankConfig, // 2.14
		"ncclCommFinalize":       &l.call.finalize,       // 2.14
		"ncclGetLastError":       &l.call.getLastErr,     // 2.13
	})
	return l, nil
}

// Path is the file that was loaded, with symbolic links resolved.
func (l *Library) Path() string { return l.path }

// Version is the library's version code, for example 22907 for 2.29.7.
func (l *Library) Version() (int, error) {
	var version C.int
	result := C.nccl_get_version(C.uintptr_t(l.call.getVersion), &version)
	return int(version), l.failure("ncclGetVersion", result, nil)
}

// UniqueID makes the id by which the ranks of a communicator find each other.
// This process must live until all of them are initialised.
func (l *Library) UniqueID() ([128]byte, error) {
	var id [C.nccl_id_bytes]byte
	result := C.nccl_get_unique_id(C.uintptr_t(l.call.getUniqueID), (*C.char)(unsafe.Pointer(&id[0])))
	return id, l.failure("ncclGetUniqueId", result, nil)
}

// Init joins a communicator. Where the library can, it returns at once and
// AsyncError says when the communicator is ready; otherwise it blocks.
func (l *Library) Init(id [128]byte, ranks, rank int) (*Comm, error) {
	comm := newComm(l)
	cid := (*C.char)(unsafe.Pointer(&id[0]))
	if l.call.initRankConfig == 0 {
		result := C.nccl_init_rank(C.uintptr_t(l.call.initRank), comm.cell, C.int(ranks), cid, C.int(rank))
		return comm.initialised("ncclCommInitRank", result)
	}
	result := C.nccl_init_rank_nonblocking(C.uintptr_t(l.call.initRankConfig), comm.cell, C.int(ranks), cid, C.int(rank))
	return comm.initialised("ncclCommInitRankConfig", result)
}
