// Package hostccl is the device side of this project's own collective
// library: memory, streams and events in host memory, with the same methods
// as a GPU's. Its collectives are called through package nccl.
//
// The library itself is C++ and stands in lib/, with its own README on
// threads and lifetimes.
package hostccl

/*
#cgo CFLAGS: -Wall -Wextra -Werror
#include "hostccl.h"
*/
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"slurm-preflight/cgo/dl"
)

// notReady is hostcclNotReady.
const notReady = 1

// functions are the addresses of the library's functions.
type functions struct {
	version, errorString           uintptr
	memAlloc, memFree, memcpy      uintptr
	streamCreate, streamDestroy    uintptr
	streamQuery, streamSynchronize uintptr
	eventCreate, eventDestroy      uintptr
	eventRecord, eventElapsedNanos uintptr
}

// Device is the host's memory behind libhostccl.so.
type Device struct {
	call functions
}

// Open loads libhostccl.so from a path. The error is one of package dl's.
func Open(path string) (*Device, error) {
	lib, err := dl.Open(path)
	if err != nil {
		return nil, err
	}
	d := &Device{}
	err = lib.Bind(map[string]*uintptr{
		"hostcclVersion":           &d.call.version,
		"hostcclGetErrorString":    &d.call.errorString,
		"hostcclMemAlloc":          &d.call.memAlloc,
		"hostcclMemFree":           &d.call.memFree,
		"hostcclMemcpyAsync":       &d.call.memcpy,
		"hostcclStreamCreate":      &d.call.streamCreate,
		"hostcclStreamDestroy":     &d.call.streamDestroy,
		"hostcclStreamQuery":       &d.call.streamQuery,
		"hostcclStreamSynchronize": &d.call.streamSynchronize,
		"hostcclEventCreate":       &d.call.eventCreate,
		"hostcclEventDestroy":      &d.call.eventDestroy,
		"hostcclEventRecord":       &d.call.eventRecord,
		"hostcclEventElapsedTime":  &d.call.eventElapsedNanos,
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Version is the library's own version, for example "0.1".
func (d *Device) Version() string {
	return C.GoString(C.host_version(C.uintptr_t(d.call.version)))
}

// Alloc reserves memory that collectives can use.
func (d *Device) Alloc(bytes int) (uintptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("allocating %d bytes is not possible", bytes)
	}
	var memory C.uintptr_t
	result := C.host_mem_alloc(C.uintptr_t(d.call.memAlloc), C.size_t(bytes), &memory)
	if err := d.failure("hostcclMemAlloc", result); err != nil {
		return 0, fmt.Errorf("allocating %d bytes: %w", bytes, err)
	}
	return uintptr(memory), nil
}

// Free returns what Alloc reserved.
func (d *Device) Free(memory uintptr) error { return d.on("hostcclMemFree", d.call.memFree, memory) }

// Upload copies into reserved memory and returns when it is there.
func (d *Device) Upload(dst uintptr, src []byte) error {
	result := C.host_upload(C.uintptr_t(d.call.memcpy), C.uintptr_t(d.call.streamSynchronize),
		C.uintptr_t(dst), unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src)))
	return d.failure("hostcclMemcpyAsync", result)
}

// Download copies from reserved memory and returns when it is there.
func (d *Device) Download(dst []byte, src uintptr) error {
	result := C.host_download(C.uintptr_t(d.call.memcpy), C.uintptr_t(d.call.streamSynchronize),
		unsafe.Pointer(unsafe.SliceData(dst)), C.uintptr_t(src), C.size_t(len(dst)))
	return d.failure("hostcclMemcpyAsync", result)
}

// NewStream makes a queue of operations that run one after another.
func (d *Device) NewStream() (uintptr, error) {
	return d.create("hostcclStreamCreate", d.call.streamCreate)
}

// StreamDone tells whether everything queued on the stream has been carried out. It never blocks.
func (d *Device) StreamDone(stream uintptr) (bool, error) {
	result := C.host_on_handle(C.uintptr_t(d.call.streamQuery), C.uintptr_t(stream))
	if result == notReady {
		return false, nil
	}
	err := d.failure("hostcclStreamQuery", result)
	return err == nil, err
}

// FreeStream returns at once; what is queued is still carried out.
func (d *Device) FreeStream(stream uintptr) error {
	return d.on("hostcclStreamDestroy", d.call.streamDestroy, stream)
}

// NewEvent makes a mark that can be recorded on a stream.
func (d *Device) NewEvent() (uintptr, error) {
	return d.create("hostcclEventCreate", d.call.eventCreate)
}

// Record has the event note the moment when the stream reaches it.
func (d *Device) Record(event, stream uintptr) error {
	result := C.host_record(C.uintptr_t(d.call.eventRecord), C.uintptr_t(event), C.uintptr_t(stream))
	return d.failure("hostcclEventRecord", result)
}

// Elapsed is the time between two events that the stream has reached.
func (d *Device) Elapsed(from, to uintptr) (time.Duration, error) {
	var nanoseconds C.int64_t
	result := C.host_elapsed(C.uintptr_t(d.call.eventElapsedNanos), &nanoseconds, C.uintptr_t(from), C.uintptr_t(to))
	return time.Duration(nanoseconds), d.failure("hostcclEventElapsedTime", result)
}

// FreeEvent returns what NewEvent made.
func (d *Device) FreeEvent(event uintptr) error {
	return d.on("hostcclEventDestroy", d.call.eventDestroy, event)
}

func (d *Device) create(call string, function uintptr) (uintptr, error) {
	var handle C.uintptr_t
	result := C.host_create(C.uintptr_t(function), &handle)
	return uintptr(handle), d.failure(call, result)
}

func (d *Device) on(call string, function, handle uintptr) error {
	return d.failure(call, C.host_on_handle(C.uintptr_t(function), C.uintptr_t(handle)))
}

func (d *Device) failure(call string, result C.int) error {
	if result == 0 {
		return nil
	}
	text := C.host_error_string(C.uintptr_t(d.call.errorString), result)
	return fmt.Errorf("%s: %s (code %d)", call, C.GoString(text), int(result))
}
