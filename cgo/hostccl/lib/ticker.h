// Makes a Gloo device's event loop turn every half millisecond. Taking a
// socket out of the loop waits for its next turn, which for an idle loop is
// up to 10 ms away: once for each pair that is connected or closed. Where no
// timer can be had the loop is merely slower.
#pragma once

#include <gloo/transport/tcp/device.h>

#include <memory>

#include "channel.h"

namespace hostccl {

class Ticker : private gloo::transport::tcp::Handler {
 public:
  explicit Ticker(const std::shared_ptr<gloo::transport::Device>& device) noexcept;
  ~Ticker() override;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void handleEvents(int events) override;

  const std::shared_ptr<gloo::transport::tcp::Device> device_;
  const Descriptor timer_;
  bool registered_ = false;
};

}  // namespace hostccl
