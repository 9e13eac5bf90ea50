// The collective operations, over Gloo's pairs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_api.h"
#include "transport.h"

namespace hostccl {

// One rank's part in a collective, with the arguments of NCCL's function.
struct Collective {
  enum class Kind { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce };
  Kind kind;
  const void* send;
  void* recv;
  size_t count;  // as NCCL counts: of one block where each rank has one
  ncclDataType_t type;
  int root;  // of kBroadcast and kReduce
};

size_t elementSize(ncclDataType_t type);

// Blocks until this rank's part is done. A group of one rank has no transport.
// The tag is the same on all ranks, and different for operations in flight. Throws Failure.
void perform(const Transport* transport, const Collective& collective, uint32_t tag);

}  // namespace hostccl
