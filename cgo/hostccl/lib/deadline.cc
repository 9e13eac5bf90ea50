#include "deadline.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "failure.h"

namespace hostccl {

namespace {
constexpr auto kDefaultTimeout = std::chrono::seconds(30);
constexpr double kLongestSeconds = 86400;
}  // namespace

Milliseconds configuredTimeout() {
  const char* text = getenv("HOSTCCL_TIMEOUT");
  if (text == nullptr || *text == '\0') return kDefaultTimeout;
  char* end = nullptr;
  const double seconds = strtod(text, &end);
  if (*end != '\0' || !std::isfinite(seconds) || seconds < 0.001 || seconds > kLongestSeconds) {
    throw Failure(ncclInvalidArgument, std::string("HOSTCCL_TIMEOUT=") + text +
                                           " is not a number of seconds between 0.001 and 86400");
  }
  return Milliseconds(std::llround(seconds * 1000));
}

}  // namespace hostccl
