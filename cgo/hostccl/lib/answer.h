// How the functions of NCCL's API end: exceptions become result codes, and their
// texts what ncclGetLastError says.
#pragma once

#include <exception>
#include <string>

#include "failure.h"
#include "nccl_api.h"

namespace hostccl {

// Notes the text and returns the code.
ncclResult_t failed(ncclResult_t code, const std::string& text);

// The text of the process's last failure.
std::string lastFailure();

// Throws Failure with ncclInvalidArgument unless the condition holds.
void require(bool condition, const char* text);

// Exceptions end here.
template <class Body>
ncclResult_t answer(const Body& body) noexcept {
  try {
    return body();
  } catch (const Failure& failure) {
    return failed(failure.code, failure.what());
  } catch (const std::exception& error) {
    return failed(ncclInternalError, error.what());
  }
}

}  // namespace hostccl
