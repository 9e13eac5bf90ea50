// Calls into libhostccl.so through addresses found by dlsym.
#pragma once

#include <stddef.h>
#include <stdint.h>

const char *host_version(uintptr_t function);
const char *host_error_string(uintptr_t function, int result);
int host_mem_alloc(uintptr_t function, size_t bytes, uintptr_t *memory);
int host_create(uintptr_t function, uintptr_t *handle);
// free, destroy and query have the same type.
int host_on_handle(uintptr_t function, uintptr_t handle);
int host_record(uintptr_t function, uintptr_t event, uintptr_t stream);
int host_elapsed(uintptr_t function, int64_t *nanoseconds, uintptr_t from, uintptr_t to);
// These copy and wait, so that the side in Go's memory need not outlive the call.
int host_upload(uintptr_t copy, uintptr_t synchronize, uintptr_t to, const void *from, size_t bytes);
int host_download(uintptr_t copy, uintptr_t synchronize, void *to, uintptr_t from, size_t bytes);
