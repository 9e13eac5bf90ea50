#include "nccl.h"

#include <limits.h>
#include <string.h>

typedef struct {
	char internal[nccl_id_bytes];
} unique_id;

// The head of ncclConfig_t, which every version since 2.14 accepts: with a
// version of 2.14 the library gives all later fields their defaults.
typedef struct {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;
	int unused;
} config;

_Static_assert(sizeof(config) == 24, "ncclConfig_t of 2.14 has 24 bytes");

enum { float32 = 7, sum = 0 };
enum { success = 0, in_progress = 7 };

static unique_id id_of(const char *bytes)
{
	unique_id id;
	memcpy(id.internal, bytes, sizeof(id.internal));
	return id;
}

int nccl_get_version(uintptr_t function, int *version)
{
	return ((int (*)(int *))function)(version);
}

int nccl_get_unique_id(uintptr_t function, char *id)
{
	unique_id made;
	memset(&made, 0, sizeof(made));
	int result = ((int (*)(unique_id *))function)(&made);
	memcpy(id, made.internal, sizeof(made.internal));
	return result;
}

int nccl_init_rank(uintptr_t function, void **comm, int ranks, const char *id, int rank)
{
	return ((int (*)(void **, int, unique_id, int))function)(comm, ranks, id_of(id), rank);
}

int nccl_init_rank_nonblocking(uintptr_t function, void **comm, int ranks, const char *id, int rank)
{
	config settings = {sizeof(config), 0xcafebeef, 21400, 0, INT_MIN};
	return ((int (*)(void **, int, unique_id, int, config *))function)(comm, ranks, id_of(id), rank, &settings);
}

int nccl_on_comm(uintptr_t function, void *comm)
{
	return ((int (*)(void *))function)(comm);
}

int nccl_get_async_error(uintptr_t function, void *comm, int *result)
{
	return ((int (*)(void *, int *))function)(comm, result);
}

const char *nccl_get_error_string(uintptr_t function, int result)
{
	return ((const char *(*)(int))function)(result);
}

const char *nccl_get_last_error(uintptr_t function, void *comm)
{
	return ((const char *(*)(void *))function)(comm);
}

int nccl_all_reduce(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream)
{
	return ((int (*)(const void *, void *, size_t, int, int, void *, void *))function)(
		(const void *)send, (void *)recv, count, float32, sum, comm, (void *)stream);
}

int nccl_all_gather(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream)
{
	return ((int (*)(const void *, void *, size_t, int, void *, void *))function)(
		(const void *)send, (void *)recv, count, float32, comm, (void *)stream);
}

int nccl_reduce_scatter(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, void *comm, uintptr_t stream)
{
	return nccl_all_reduce(function, send, recv, count, comm, stream); // of the same type
}

int nccl_broadcast(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, int root, void *comm, uintptr_t stream)
{
	return ((int (*)(const void *, void *, size_t, int, int, void *, void *))function)(
		(const void *)send, (void *)recv, count, float32, root, comm, (void *)stream);
}

int nccl_reduce(uintptr_t function, uintptr_t send, uintptr_t recv, size_t count, int root, void *comm, uintptr_t stream)
{
	return ((int (*)(const void *, void *, size_t, int, int, int, void *, void *))function)(
		(const void *)send, (void *)recv, count, float32, sum, root, comm, (void *)stream);
}

// A message either way; ncclSend and ncclRecv have the same type but for a const.
static int message(uintptr_t function, uintptr_t memory, size_t count, int peer, void *comm, uintptr_t stream)
{
	return ((int (*)(void *, size_t, int, int, void *, void *))function)(
		(void *)memory, count, float32, peer, comm, (void *)stream);
}

static int good(int result)
{
	return result == success || result == in_progress;
}

static int start(nccl_messages functions)
{
	return ((int (*)(void))functions.group_start)();
}

// Closes a group, which must happen whatever came before. The first failure counts.
static int end(nccl_messages functions, int result)
{
	int ended = ((int (*)(void))functions.group_end)();
	return good(result) ? ended : result;
}

int nccl_all_to_all(nccl_messages functions, uintptr_t send, uintptr_t recv, size_t count, int ranks, void *comm, uintptr_t stream)
{
	size_t block = count * sizeof(float);
	int result = start(functions);
	if (!good(result))
		return result;
	for (int peer = 0; peer < ranks && good(result); peer++) {
		result = message(functions.send, send + block * (size_t)peer, count, peer, comm, stream);
		if (good(result))
			result = message(functions.recv, recv + block * (size_t)peer, count, peer, comm, stream);
	}
	return end(functions, result);
}

int nccl_send_recv(nccl_messages functions, uintptr_t send, int to, uintptr_t recv, int from, size_t count, void *comm, uintptr_t stream)
{
	int result = start(functions);
	if (!good(result))
		return result;
	result = message(functions.send, send, count, to, comm, stream);
	if (good(result))
		result = message(functions.recv, recv, count, from, comm, stream);
	return end(functions, result);
}
