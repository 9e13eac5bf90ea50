// Memory, streams and events in host memory: what CUDA's driver offers to a
// caller of NCCL, for callers of libhostccl. A stream is a FIFO with one
// executor thread; the null stream is one more, shared by the process.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HOSTCCL_API
#define HOSTCCL_API __attribute__((visibility("default")))
#endif

typedef struct hostcclStream* hostcclStream_t;
typedef struct hostcclEvent* hostcclEvent_t;

typedef enum {
  hostcclSuccess = 0,
  hostcclNotReady = 1,
  hostcclInvalidValue = 2,
  hostcclOutOfMemory = 3,
  hostcclSystemError = 4,
} hostcclResult_t;

// The version of this library, in its own numbering ("0.1").
HOSTCCL_API const char* hostcclVersion(void);
HOSTCCL_API const char* hostcclGetErrorString(hostcclResult_t result);

HOSTCCL_API hostcclResult_t hostcclMemAlloc(void** memory, size_t bytes);
HOSTCCL_API hostcclResult_t hostcclMemFree(void* memory);
// Copies in either direction between any two buffers; both must stay until the stream is there.
HOSTCCL_API hostcclResult_t hostcclMemcpyAsync(void* to, const void* from, size_t bytes,
                                               hostcclStream_t stream);
HOSTCCL_API hostcclResult_t hostcclMemsetD32Async(void* to, uint32_t value, size_t count,
                                                  hostcclStream_t stream);

HOSTCCL_API hostcclResult_t hostcclStreamCreate(hostcclStream_t* stream);
// Returns at once; what is queued still runs.
HOSTCCL_API hostcclResult_t hostcclStreamDestroy(hostcclStream_t stream);
HOSTCCL_API hostcclResult_t hostcclStreamQuery(hostcclStream_t stream);
HOSTCCL_API hostcclResult_t hostcclStreamSynchronize(hostcclStream_t stream);

HOSTCCL_API hostcclResult_t hostcclEventCreate(hostcclEvent_t* event);
HOSTCCL_API hostcclResult_t hostcclEventDestroy(hostcclEvent_t event);
HOSTCCL_API hostcclResult_t hostcclEventRecord(hostcclEvent_t event, hostcclStream_t stream);
// An event that was never recorded is complete.
HOSTCCL_API hostcclResult_t hostcclEventQuery(hostcclEvent_t event);
// Both events must have been recorded (InvalidValue) and reached (NotReady).
HOSTCCL_API hostcclResult_t hostcclEventElapsedTime(int64_t* nanoseconds, hostcclEvent_t from,
                                                    hostcclEvent_t to);

#ifdef __cplusplus
}
#endif
