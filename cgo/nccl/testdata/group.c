// Two ranks in one process, as C programs do it: a grouped blocking init, a
// sum on two streams, finalize, destroy. Exits 0 when all is as it should be.
#include <stdio.h>
#include <stdlib.h>

#include "hostccl.h"
#include "nccl_api.h"

#define CHECK(call) \
	do { \
		int result = (call); \
		if (result != 0) { \
			fprintf(stderr, "%s: %d: %s\n", #call, result, ncclGetLastError(NULL)); \
			exit(1); \
		} \
	} while (0)

enum { ranks = 2, count = 100001 };

int main(void)
{
	ncclUniqueId id;
	ncclComm_t comms[ranks];
	hostcclStream_t streams[ranks];
	double *buffers[ranks];
	CHECK(ncclGetUniqueId(&id));
	CHECK(ncclGroupStart());
	for (int rank = 0; rank < ranks; rank++)
		CHECK(ncclCommInitRank(&comms[rank], ranks, id, rank));
	CHECK(ncclGroupEnd());
	CHECK(ncclGroupStart());
	for (int rank = 0; rank < ranks; rank++) {
		int got;
		CHECK(ncclCommUserRank(comms[rank], &got) || got != rank);
		CHECK(ncclCommCount(comms[rank], &got) || got != ranks);
		CHECK(hostcclStreamCreate(&streams[rank]));
		CHECK(hostcclMemAlloc((void **)&buffers[rank], count * sizeof(double)));
		for (int i = 0; i < count; i++)
			buffers[rank][i] = i + rank;
		CHECK(ncclAllReduce(buffers[rank], buffers[rank], count, ncclFloat64, ncclSum, comms[rank], streams[rank]));
	}
	CHECK(ncclGroupEnd());
	for (int rank = 0; rank < ranks; rank++) {
		CHECK(ncclCommFinalize(comms[rank]));
		CHECK(hostcclStreamSynchronize(streams[rank]));
		for (int i = 0; i < count; i++)
			CHECK(buffers[rank][i] != 2 * i + 1);
		CHECK(ncclAllReduce(buffers[rank], buffers[rank], 1, ncclFloat64, ncclSum, comms[rank], streams[rank]) !=
		      ncclInvalidArgument);
		CHECK(ncclCommDestroy(comms[rank]));
		CHECK(ncclCommDestroy(comms[rank]) != ncclInvalidArgument);
	}
	CHECK(ncclGroupEnd() != ncclInvalidUsage);
	return 0;
}
