// A rank's way to the root. Every wait here ends at a deadline, or when
// somebody makes the descriptor `wake` readable.
#pragma once

#include "channel.h"
#include "deadline.h"
#include "protocol.h"

namespace hostccl {

// Throws Failure when the root cannot be reached.
Channel connectToRoot(const sockaddr_storage& root, Clock::time_point deadline, int wake);

// The next frame from the root. Throws Failure when it says Fail, or nothing in time.
Frame awaitFrame(Channel& channel, FrameType type, Clock::time_point deadline, int wake);

// What a Fail frame means.
Failure failureOf(const Frame& frame);

}  // namespace hostccl
