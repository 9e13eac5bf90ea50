// Three ranks in one process that send to and receive from each other in groups.
// Exits 0 when all is as it should be.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostccl.h"
#include "nccl_api.h"

#define EXPECT(call, wanted) \
	do { \
		int result = (call); \
		if (result != (int)(wanted)) { \
			fprintf(stderr, "line %d: %s: %d: %s\n", __LINE__, #call, result, ncclGetLastError(NULL)); \
			exit(1); \
		} \
	} while (0)
#define CHECK(call) EXPECT(call, 0)

enum { ranks = 3, longest = 300001, messages = 2 };

// The two messages from one rank to another have different lengths, and no two pairs have the same.
static size_t length(int from, int to, int message) { return longest - (size_t)(100 * from + 10 * to + message); }
static int content(int from, int to, int message, int i) { return ((from * ranks + to) * messages + message) * 1000 + i % 997; }

static ncclComm_t comms[ranks];
static hostcclStream_t streams[ranks], other;
static int *out[ranks][ranks][messages], *in[ranks][ranks][messages];

static void sends(int rank, int peer)
{
	for (int m = 0; m < messages; m++)
		CHECK(ncclSend(out[rank][peer][m], length(rank, peer, m), ncclInt32, peer, comms[rank], streams[rank]));
}

static void receives(int rank, int peer)
{
	for (int m = 0; m < messages; m++)
		CHECK(ncclRecv(in[rank][peer][m], length(peer, rank, m), ncclInt32, peer, comms[rank], streams[rank]));
}

// Every rank in another order: the nearest first, the farthest first, and all receives before all sends.
static void everybody(void)
{
	CHECK(ncclGroupStart());
	for (int i = 0; i < ranks; i++) {
		sends(0, i);
		receives(0, i);
		receives(1, ranks - 1 - i);
		sends(1, ranks - 1 - i);
		receives(2, i);
	}
	CHECK(ncclGroupStart()); // groups nest
	for (int i = 0; i < ranks; i++)
		sends(2, i);
	CHECK(ncclGroupEnd());
	CHECK(ncclGroupEnd());
	for (int rank = 0; rank < ranks; rank++)
		CHECK(hostcclStreamSynchronize(streams[rank]));
}

static void verify(void)
{
	for (int to = 0; to < ranks; to++)
		for (int from = 0; from < ranks; from++)
			for (int m = 0; m < messages; m++)
				for (int i = 0; i < (int)length(from, to, m); i++)
					if (in[to][from][m][i] != content(from, to, m, i)) {
						fprintf(stderr, "%d to %d, message %d: element %d is %d\n", from, to, m, i, in[to][from][m][i]);
						exit(1);
					}
}

// What is wrong in a group undoes the group, and the communicator lives on.
static void mistakes(void)
{
	int *spare = in[0][1][0];
	CHECK(ncclGroupStart());
	CHECK(ncclSend(spare, 1, ncclInt32, 1, comms[0], streams[0]));
	EXPECT(ncclRecv(spare, 1, ncclInt32, ranks, comms[0], streams[0]), ncclInvalidArgument);
	EXPECT(ncclGroupEnd(), ncclInvalidArgument);
	CHECK(ncclGroupStart());
	CHECK(ncclSend(spare, 1, ncclInt32, 0, comms[0], streams[0]));
	EXPECT(ncclGroupEnd(), ncclInvalidUsage);
	CHECK(ncclGroupStart());
	CHECK(ncclSend(spare, 2, ncclInt32, 0, comms[0], streams[0]));
	CHECK(ncclRecv(spare, 1, ncclInt32, 0, comms[0], streams[0]));
	EXPECT(ncclGroupEnd(), ncclInvalidUsage);
	CHECK(ncclGroupStart());
	CHECK(ncclSend(spare, 1, ncclInt32, 1, comms[0], streams[0]));
	EXPECT(ncclRecv(spare, 1, ncclInt32, 1, comms[0], other), ncclInvalidUsage);
	EXPECT(ncclGroupEnd(), ncclInvalidUsage);
	EXPECT(ncclSend(spare, 1, ncclInt32, 0, comms[0], streams[0]), ncclInvalidUsage);
	EXPECT(ncclSend(NULL, 1, ncclInt32, 1, comms[0], streams[0]), ncclInvalidArgument);
	CHECK(ncclSend(NULL, 0, ncclInt32, 1, comms[0], streams[0]));
	EXPECT(ncclBroadcast(spare, spare, 1, ncclInt32, -1, comms[0], streams[0]), ncclInvalidArgument);
	EXPECT(ncclReduce(spare, NULL, 1, ncclInt32, ncclSum, 0, comms[0], streams[0]), ncclInvalidArgument);
}

int main(void)
{
	ncclUniqueId id;
	CHECK(ncclGetUniqueId(&id));
	CHECK(ncclGroupStart());
	for (int rank = 0; rank < ranks; rank++)
		CHECK(ncclCommInitRank(&comms[rank], ranks, id, rank));
	CHECK(ncclGroupEnd());
	CHECK(hostcclStreamCreate(&other));
	for (int rank = 0; rank < ranks; rank++) {
		CHECK(hostcclStreamCreate(&streams[rank]));
		for (int peer = 0; peer < ranks; peer++)
			for (int m = 0; m < messages; m++) {
				CHECK(hostcclMemAlloc((void **)&out[rank][peer][m], longest * sizeof(int)));
				CHECK(hostcclMemAlloc((void **)&in[rank][peer][m], longest * sizeof(int)));
				for (int i = 0; i < longest; i++)
					out[rank][peer][m][i] = content(rank, peer, m, i);
			}
	}
	for (int round = 0; round < 3; round++) {
		for (int to = 0; to < ranks; to++)
			for (int from = 0; from < ranks; from++)
				for (int m = 0; m < messages; m++)
					memset(in[to][from][m], 0, longest * sizeof(int));
		everybody();
		verify();
		mistakes();
	}
	// Messages outside groups, one way.
	CHECK(ncclSend(out[0][2][0], 5, ncclInt32, 2, comms[0], streams[0]));
	CHECK(ncclRecv(in[2][0][0], 5, ncclInt32, 0, comms[2], streams[2]));
	for (int rank = 0; rank < ranks; rank++)
		CHECK(ncclCommDestroy(comms[rank]));
	CHECK(memcmp(out[0][2][0], in[2][0][0], 5 * sizeof(int)));
	return 0;
}
