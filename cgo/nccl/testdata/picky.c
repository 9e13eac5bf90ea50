// A library that refuses every init and says in its last error what it was
// given: the test of what the trampolines pass.
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

typedef struct { char internal[128]; } id;
typedef struct {
	size_t size;
	unsigned magic, version;
	int blocking, last;
} config;

static char text[256];

int ncclGetVersion(int *version) { *version = 22907; return 0; }
int ncclGetUniqueId(id *made) { for (int i = 0; i < 128; i++) made->internal[i] = (char)(i + 1); return 0; }
int ncclCommInitRank(void **comm, int ranks, id made, int rank) { (void)comm; (void)ranks; (void)made; (void)rank; return 3; }
int ncclCommInitRankConfig(void **comm, int ranks, id made, int rank, config *c)
{
	snprintf(text, sizeof(text), "comm %s id %d..%d ranks %d rank %d size %zu magic %x version %u blocking %d last %s",
		*comm == NULL ? "null" : "garbage", made.internal[0], (unsigned char)made.internal[127], ranks, rank,
		c->size, c->magic, c->version, c->blocking, c->last == INT_MIN ? "undefined" : "defined");
	return 42;
}
int ncclCommDestroy(void *comm) { (void)comm; return 0; }
int ncclCommAbort(void *comm) { (void)comm; return 0; }
int ncclCommGetAsyncError(void *comm, int *result) { (void)comm; *result = 0; return 0; }
const char *ncclGetErrorString(int result) { return result == 42 ? "a code of the future" : "other"; }
const char *ncclGetLastError(void *comm) { (void)comm; return text; }

// Never called, for no communicator comes to be.
#define UNUSED(name) int name(void) { return 3; }
UNUSED(ncclAllReduce)
UNUSED(ncclAllGather)
UNUSED(ncclReduceScatter)
UNUSED(ncclBroadcast)
UNUSED(ncclReduce)
UNUSED(ncclSend)
UNUSED(ncclRecv)
UNUSED(ncclGroupStart)
UNUSED(ncclGroupEnd)
