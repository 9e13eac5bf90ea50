// Package dl opens shared libraries at run time and finds symbols in them.
//
// Nothing of this project links to NCCL, CUDA or their relatives: each is
// opened by name or path when it is needed, and what is missing becomes an
// error that says which file and why. A library stays loaded until Close;
// libraries that start threads should never be closed.
package dl

/*
#define _GNU_SOURCE
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

static uintptr_t dl_open(const char *name) {
	return (uintptr_t)dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

// The address of a symbol, or 0. A symbol whose value is 0 cannot be called anyway.
static uintptr_t dl_symbol(uintptr_t library, const char *name) {
	return (uintptr_t)dlsym((void *)library, name);
}

static int dl_close(uintptr_t library) {
	return dlclose((void *)library);
}

// The path from which the loader took the library, or NULL.
static const char *dl_path(uintptr_t library) {
	struct link_map *map = NULL;
	if (dlinfo((void *)library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) {
		return NULL;
	}
	return map->l_name;
}
*/
import "C"

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"
)

// Library is an open shared library.
type Library struct {
	handle C.uintptr_t
	path   string
}

// Open loads a library. A name without a slash is searched for as the dynamic
// loader does. The error is a *NotFoundError or a *LoadError.
func Open(name string) (*Library, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, &NotFoundError{Name: name}
		}
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	// dlerror belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle := C.dl_open(cname)
	if handle == 0 {
		return nil, loadError(name, C.GoString(C.dlerror()))
	}
	return &Library{handle: handle, path: resolve(name, C.GoString(C.dl_path(handle)))}, nil
}

// resolve follows symbolic links, so that the path names the very version that was loaded.
func resolve(name, loaded string) string {
	if loaded == "" {
		return name
	}
	if real, err := filepath.EvalSymlinks(loaded); err == nil {
		return real
	}
	return loaded
}

// Path is the file that was loaded, with symbolic links resolved.
func (l *Library) Path() string { return l.path }

// Symbol finds the address of a symbol. The error is a *SymbolError.
func (l *Library) Symbol(name string) (uintptr, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	address := C.dl_symbol(l.handle, cname)
	if address == 0 {
		return 0, &SymbolError{Path: l.path, Symbol: name}
	}
	return uintptr(address), nil
}

// Bind finds several symbols and stores their addresses. The error is that of
// the first that is missing.
func (l *Library) Bind(symbols map[string]*uintptr) error {
	for _, name := range sortedKeys(symbols) {
		address, err := l.Symbol(name)
		if err != nil {
			return err
		}
		*symbols[name] = address
	}
	return nil
}

// BindOptional stores the addresses of those symbols that exist; the others stay 0.
func (l *Library) BindOptional(symbols map[string]*uintptr) {
	for name, target := range symbols {
		if address, err := l.Symbol(name); err == nil {
			*target = address
		}
	}
}

// Close drops the library. Addresses found in it must not be used any more.
func (l *Library) Close() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if C.dl_close(l.handle) != 0 {
		return &LoadError{Name: l.path, Reason: C.GoString(C.dlerror())}
	}
	return nil
}
