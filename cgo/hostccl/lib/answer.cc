#include "answer.h"

#include <mutex>

namespace hostccl {

namespace {

// As in NCCL there is one per process. Never destroyed.
struct Last {
  std::mutex mutex;
  std::string text;

  static Last& process() {
    static auto* last = new Last;
    return *last;
  }
};

}  // namespace

ncclResult_t failed(ncclResult_t code, const std::string& text) {
  Last& last = Last::process();
  const std::lock_guard<std::mutex> lock(last.mutex);
  last.text = text;
  return code;
}

std::string lastFailure() {
  Last& last = Last::process();
  const std::lock_guard<std::mutex> lock(last.mutex);
  return last.text;
}

void require(bool condition, const char* text) {
  if (!condition) throw Failure(ncclInvalidArgument, text);
}

}  // namespace hostccl
