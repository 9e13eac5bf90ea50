// libhostccl with one defect: what one rank receives has one wrong element, in
// every operation. All else goes to the library beside this one. Nodes run it
// as gate.host_lib, where the rank's environment is closed, so both are chosen
// by the compiler: -DTARGET=\"/…/libhostccl.so\" -DRANK=2.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	char internal[128];
} id;

static void *target(const char *name)
{
	void *library = dlopen(TARGET, RTLD_NOW);
	void *function = library == NULL ? NULL : dlsym(library, name);
	if (function == NULL) {
		fprintf(stderr, "shim: %s: %s\n", name, dlerror());
		abort();
	}
	return function;
}

#define FORWARD(result, name, parameters, arguments) \
	result name parameters { return ((result(*) parameters)target(#name)) arguments; }

FORWARD(const char *, hostcclVersion, (void), ())
FORWARD(const char *, hostcclGetErrorString, (int result), (result))
FORWARD(int, hostcclMemAlloc, (void **memory, size_t bytes), (memory, bytes))
FORWARD(int, hostcclMemFree, (void *memory), (memory))
FORWARD(int, hostcclMemcpyAsync, (void *to, const void *from, size_t bytes, void *stream), (to, from, bytes, stream))
FORWARD(int, hostcclMemsetD32Async, (void *to, uint32_t value, size_t count, void *stream), (to, value, count, stream))
FORWARD(int, hostcclStreamCreate, (void **stream), (stream))
FORWARD(int, hostcclStreamDestroy, (void *stream), (stream))
FORWARD(int, hostcclStreamQuery, (void *stream), (stream))
FORWARD(int, hostcclStreamSynchronize, (void *stream), (stream))
FORWARD(int, hostcclEventCreate, (void **event), (event))
FORWARD(int, hostcclEventDestroy, (void *event), (event))
FORWARD(int, hostcclEventRecord, (void *event, void *stream), (event, stream))
FORWARD(int, hostcclEventQuery, (void *event), (event))
FORWARD(int, hostcclEventElapsedTime, (int64_t *nanoseconds, void *from, void *to), (nanoseconds, from, to))
FORWARD(int, ncclGetVersion, (int *version), (version))
FORWARD(int, ncclGetUniqueId, (id *made), (made))
FORWARD(int, ncclCommInitRank, (void **comm, int ranks, id made, int rank), (comm, ranks, made, rank))
FORWARD(int, ncclCommFinalize, (void *comm), (comm))
FORWARD(int, ncclCommDestroy, (void *comm), (comm))
FORWARD(int, ncclCommAbort, (void *comm), (comm))
FORWARD(int, ncclCommGetAsyncError, (void *comm, int *result), (comm, result))
FORWARD(const char *, ncclGetErrorString, (int result), (result))
FORWARD(const char *, ncclGetLastError, (void *comm), (comm))
FORWARD(int, ncclGroupStart, (void), ())
FORWARD(int, ncclSend, (const void *send, size_t count, int type, int peer, void *comm, void *stream),
	(send, count, type, peer, comm, stream))

// What this process has received in the group that is open.
static struct {
	int is_victim;
	float *memory;
	void *stream;
} state;

FORWARD(int, ncclCommCount, (void *comm, int *count), (comm, count))
FORWARD(int, ncclCommUserRank, (void *comm, int *rank), (comm, rank))

int ncclCommInitRankConfig(void **comm, int ranks, id made, int rank, void *config)
{
	state.is_victim = rank == RANK;
	return ((int (*)(void **, int, id, int, void *))target("ncclCommInitRankConfig"))(comm, ranks, made, rank, config);
}

// Overwrites one element, in the stream's order, with a number that no result has.
static int spoil(int result, float *memory, size_t element, void *stream)
{
	const union {
		float number;
		uint32_t bits;
	} wrong = {.number = -1};
	if (result == 0 && state.is_victim)
		hostcclMemsetD32Async(memory + element, wrong.bits, 1, stream);
	return result;
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
	int result = ((int (*)(const void *, void *, size_t, int, int, void *, void *))target("ncclAllReduce"))(
		send, recv, count, type, op, comm, stream);
	return spoil(result, recv, count / 2, stream);
}

int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
	int result = ((int (*)(const void *, void *, size_t, int, int, void *, void *))target("ncclReduceScatter"))(
		send, recv, count, type, op, comm, stream);
	return spoil(result, recv, count - 1, stream);
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
	int result = ((int (*)(const void *, void *, size_t, int, void *, void *))target("ncclAllGather"))(
		send, recv, count, type, comm, stream);
	return spoil(result, recv, count + count / 2, stream); // in the block of rank 1
}

int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream)
{
	int result = ((int (*)(const void *, void *, size_t, int, int, void *, void *))target("ncclBroadcast"))(
		send, recv, count, type, root, comm, stream);
	return spoil(result, recv, 0, stream);
}

// The root alone receives.
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream)
{
	int result = ((int (*)(const void *, void *, size_t, int, int, int, void *, void *))target("ncclReduce"))(
		send, recv, count, type, op, root, comm, stream);
	return root == RANK ? spoil(result, recv, count / 3, stream) : result;
}

// What a group receives is there when it has ended.
int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
	state.memory = recv;
	state.stream = stream;
	return ((int (*)(void *, size_t, int, int, void *, void *))target("ncclRecv"))(recv, count, type, peer, comm, stream);
}

int ncclGroupEnd(void)
{
	float *memory = state.memory;
	int result = ((int (*)(void))target("ncclGroupEnd"))();
	state.memory = NULL;
	return memory == NULL ? result : spoil(result, memory, 0, state.stream);
}
