// One rank's Gloo connections to all others.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <memory>
#include <mutex>
#include <vector>

#include "deadline.h"
#include "guarded.h"
#include "protocol.h"

namespace hostccl {

class Transport {
 public:
  // Listens for every other rank, at one port each. The thread that calls this must have its signals
  // blocked, because Gloo's loop thread inherits the mask.
  Transport(int rank, int ranks, const sockaddr_storage& address, Milliseconds timeout);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  // How long an operation waits for a peer.
  Milliseconds timeout() const { return timeout_; }
  // What Gloo's own collectives run on, and where buffers for all others come from.
  const std::shared_ptr<gloo::Context>& group() const { return group_; }
  GuardedContext& buffers() const { return *context_; }

  std::vector<uint16_t> ports() const;
  // Connects to all others; blocks until then, or until interrupt.
  void connect(const std::vector<Endpoint>& endpoints);
  // Makes every call that blocks or will block return with a Failure, and closes all connections.
  void interrupt();

 private:
  class Group;

  const int rank_;
  const int ranks_;
  const Milliseconds timeout_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<GuardedContext> context_;
  std::shared_ptr<gloo::Context> group_;
};

}  // namespace hostccl
