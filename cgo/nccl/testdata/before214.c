// A library with NCCL's API as it was before 2.14: blocking init only, no
// finalize. It hands everything on to the library in the environment.
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct { char internal[128]; } id;

static void *target(const char *name)
{
	return dlsym(dlopen(getenv("NCCL_TEST_TARGET"), RTLD_NOW), name);
}

#define FORWARD(result, name, parameters, arguments) \
	result name parameters { return ((result(*) parameters)target(#name)) arguments; }

FORWARD(int, ncclGetVersion, (int *version), (version))
FORWARD(int, ncclGetUniqueId, (id *made), (made))
FORWARD(int, ncclCommInitRank, (void **comm, int ranks, id made, int rank), (comm, ranks, made, rank))
FORWARD(int, ncclCommDestroy, (void *comm), (comm))
FORWARD(int, ncclCommAbort, (void *comm), (comm))
FORWARD(int, ncclCommGetAsyncError, (void *comm, int *result), (comm, result))
FORWARD(const char *, ncclGetErrorString, (int result), (result))
FORWARD(int, ncclAllReduce, (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream),
	(send, recv, count, type, op, comm, stream))
FORWARD(int, ncclReduceScatter, (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream),
	(send, recv, count, type, op, comm, stream))
FORWARD(int, ncclAllGather, (const void *send, void *recv, size_t count, int type, void *comm, void *stream),
	(send, recv, count, type, comm, stream))
FORWARD(int, ncclBroadcast, (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream),
	(send, recv, count, type, root, comm, stream))
FORWARD(int, ncclReduce, (const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream),
	(send, recv, count, type, op, root, comm, stream))
FORWARD(int, ncclSend, (const void *send, size_t count, int type, int peer, void *comm, void *stream),
	(send, count, type, peer, comm, stream))
FORWARD(int, ncclRecv, (void *recv, size_t count, int type, int peer, void *comm, void *stream),
	(recv, count, type, peer, comm, stream))
FORWARD(int, ncclGroupStart, (void), ())
FORWARD(int, ncclGroupEnd, (void), ())
