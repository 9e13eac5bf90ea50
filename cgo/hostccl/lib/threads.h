// Threads of this library: detached, named, with every signal blocked.
#pragma once

#include <functional>

namespace hostccl {

// Gloo writes without MSG_NOSIGNAL, so SIGPIPE must be blocked wherever it
// writes; and handlers of the host program have no business on our threads.
// body must not throw. Throws Failure when no thread can be had.
void startThread(const char* name, std::function<void()> body);

}  // namespace hostccl
