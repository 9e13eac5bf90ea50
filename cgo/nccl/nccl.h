// Calls into a library with NCCL's C API through addresses found by dlsym.
// The declarations are that library's binary interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { nccl_id_bytes = 128 };

int nccl_get_version(uintptr_t function, int *version);
int nccl_get_unique_id(uintptr_t function, char *id);
// comm points to a handle that is NULL; it must stay, for the library may write there later.
int nccl_init_rank(uintptr_t function, void **comm, int ranks, const char *id, int rank);
int nccl_init_rank_nonblocking(uintptr_t function, void **comm, int ranks, const char *id, int rank);
// finalize, destroy and abort have the same type.
int nccl_on_comm(uintptr_t function, void *comm);
int nccl_get_async_error(uintptr_t function, void *comm, int *result);
const char *nccl_get_error_string(uintptr_t function, int result);
const char *nccl_get_last_error(uintptr_t function, void *comm);
int nccl_all_reduce(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream);
int nccl_all_gather(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream);
int nccl_reduce_scatter(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream);
int nccl_broadcast(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, int root, void *comm, uintptr_t stream);
int nccl_reduce(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, int root, void *comm, uintptr_t stream);

// Sends and receives between pairs of ranks, which only pass at the same time inside a group.
typedef struct {
	uintptr_t group_start, group_end, send, recv;
} nccl_messages;

// To every rank its block of send, and from every rank its block of recv.
int nccl_all_to_all(nccl_messages functions, uintptr_t send, uintptr_t recv, size_t count, int ranks, void *comm, uintptr_t stream);
// One message to a rank and one from another.
int nccl_send_recv(nccl_messages functions, uintptr_t send, int to, uintptr_t recv, int from, size_t count, void *comm, uintptr_t stream);
