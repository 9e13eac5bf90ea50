#include "ticker.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <exception>

namespace hostccl {

Ticker::Ticker(const std::shared_ptr<gloo::transport::Device>& device) noexcept
    : device_(std::static_pointer_cast<gloo::transport::tcp::Device>(device)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  constexpr timespec kHalfMillisecond{0, 500000};
  const itimerspec periodic{kHalfMillisecond, kHalfMillisecond};
  if (timer_.get() < 0 || timerfd_settime(timer_.get(), 0, &periodic, nullptr) != 0) return;
  try {
    device_->registerDescriptor(timer_.get(), EPOLLIN, this);
    registered_ = true;
  } catch (const std::exception&) {
    registered_ = false;
  }
}

Ticker::~Ticker() {
  if (registered_) device_->unregisterDescriptor(timer_.get(), this);
}

void Ticker::handleEvents(int /*events*/) {
  uint64_t turns = 0;
  if (read(timer_.get(), &turns, sizeof(turns)) < 0) {
    // Nothing expired yet: the turn itself is what counts.
    return;
  }
}

}  // namespace hostccl
