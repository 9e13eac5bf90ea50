#include "failure.h"

#include <cerrno>
#include <cstring>

namespace hostccl {

Failure systemFailure(const std::string& what) {
  return Failure(ncclSystemError, what + ": " + strerror(errno));
}

}  // namespace hostccl
