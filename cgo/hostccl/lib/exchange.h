// Sends and receives between pairs of ranks, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport.h"

namespace hostccl {

// One message to or from a rank, which may be this one.
struct Transfer {
  bool receives;
  void* memory;  // only read unless it receives
  size_t bytes;
  int peer;
  uint32_t number;  // counts the messages of this direction between the two ranks
};

// Blocks until all messages of a group have passed, in whatever order the group
// names them. Messages to oneself match in their order and were found to match. Throws Failure.
void exchange(const Transport* transport, int rank, const std::vector<Transfer>& group);

}  // namespace hostccl
