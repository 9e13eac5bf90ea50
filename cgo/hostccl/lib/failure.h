// The one kind of exception that crosses this library's rooms.
#pragma once

#include <stdexcept>
#include <string>

#include "nccl_api.h"

namespace hostccl {

struct Failure : std::runtime_error {
  Failure(ncclResult_t result, const std::string& text) : std::runtime_error(text), code(result) {}
  ncclResult_t code;
};

// A system call failed: "what: strerror(errno)".
Failure systemFailure(const std::string& what);

}  // namespace hostccl
