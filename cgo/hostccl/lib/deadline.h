// Time: the configured limit and the arithmetic of waiting until a moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace hostccl {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// HOSTCCL_TIMEOUT in seconds, 30 where it is not set. Throws Failure for anything but a positive number.
Milliseconds configuredTimeout();

// What is left until the deadline, as poll(2) wants it; 0 when it is past.
inline int pollTimeout(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, INT_MAX));
}

}  // namespace hostccl
