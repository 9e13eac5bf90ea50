// The part of NCCL's C API that this library implements. Types, values and
// layout are NCCL's binary interface, which has not changed since 2.14.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOSTCCL_API __attribute__((visibility("default")))

typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
} ncclResult_t;

typedef enum {
  ncclInt32 = 2,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
} ncclDataType_t;

typedef enum { ncclSum = 0 } ncclRedOp_t;

// The head of ncclConfig_t, which every version of NCCL shares.
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
} ncclConfigHead;

#define NCCL_CONFIG_MAGIC 0xcafebeefU

HOSTCCL_API ncclResult_t ncclGetVersion(int* version);
HOSTCCL_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
HOSTCCL_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
HOSTCCL_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id,
                                                int rank, void* config);
HOSTCCL_API ncclResult_t ncclCommFinalize(ncclComm_t comm);
HOSTCCL_API ncclResult_t ncclCommDestroy(ncclComm_t comm);
HOSTCCL_API ncclResult_t ncclCommAbort(ncclComm_t comm);
HOSTCCL_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result);
HOSTCCL_API ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
HOSTCCL_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
HOSTCCL_API const char* ncclGetErrorString(ncclResult_t result);
HOSTCCL_API const char* ncclGetLastError(ncclComm_t comm);
HOSTCCL_API ncclResult_t ncclGroupStart(void);
HOSTCCL_API ncclResult_t ncclGroupEnd(void);
HOSTCCL_API ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count,
                                       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                       void* stream);
HOSTCCL_API ncclResult_t ncclAllGather(const void* send, void* recv, size_t sendCount,
                                       ncclDataType_t type, ncclComm_t comm, void* stream);
HOSTCCL_API ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t recvCount,
                                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                           void* stream);
HOSTCCL_API ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count,
                                       ncclDataType_t type, int root, ncclComm_t comm,
                                       void* stream);
HOSTCCL_API ncclResult_t ncclReduce(const void* send, void* recv, size_t count,
                                    ncclDataType_t type, ncclRedOp_t op, int root,
                                    ncclComm_t comm, void* stream);
HOSTCCL_API ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                                  ncclComm_t comm, void* stream);
HOSTCCL_API ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer,
                                  ncclComm_t comm, void* stream);

#ifdef __cplusplus
}
#endif
