#include "transport.h"

#include <arpa/inet.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <netinet/in.h>

#include <utility>

#include "failure.h"
#include "interface.h"
#include "ticker.h"

namespace hostccl {

namespace tcp = gloo::transport::tcp;

// Gloo's own context with our transport in it.
class Transport::Group : public gloo::Context {
 public:
  Group(std::shared_ptr<gloo::transport::Device> device, std::shared_ptr<GuardedContext> context,
        Milliseconds timeout)
      : gloo::Context(context->rank, context->size) {
    device_ = std::move(device);
    transportContext_ = std::move(context);
    setTimeout(timeout);
  }
};

namespace {

std::shared_ptr<gloo::transport::Device> createDevice(const sockaddr_storage& address) {
  tcp::attr attributes;
  attributes.hostname = addressText(address);
  return tcp::CreateDevice(attributes);
}

uint16_t portOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

Transport::Transport(int rank, int ranks, const sockaddr_storage& address, Milliseconds timeout)
    : rank_(rank), ranks_(ranks), timeout_(timeout), device_(createDevice(address)) {
  auto inner = device_->createContext(rank, ranks);
  // Gloo waits five times this for a connection.
  inner->setTimeout(std::max(timeout / 5, Milliseconds(1)));
  context_ = std::make_shared<GuardedContext>(std::move(inner));
  for (int other = 0; other < ranks; other++) {
    if (other != rank) context_->createPair(other);
  }
  group_ = std::make_shared<Group>(device_, context_, timeout);
}

Transport::~Transport() {
  const Ticker ticker(device_);
  group_.reset();
  context_.reset();
}

std::vector<uint16_t> Transport::ports() const {
  std::vector<uint16_t> ports(static_cast<size_t>(ranks_));
  for (int other = 0; other < ranks_; other++) {
    if (other == rank_) continue;
    const auto& address = dynamic_cast<const tcp::Address&>(context_->getPair(other)->address());
    ports[static_cast<size_t>(other)] = portOf(address.getSockaddr());
  }
  return ports;
}

void Transport::connect(const std::vector<Endpoint>& endpoints) {
  const Ticker ticker(device_);
  for (int other = 0; other < ranks_; other++) {
    if (other == rank_) continue;
    context_->check();
    const tcp::Address address(socketAddress(endpoints[static_cast<size_t>(other)]));
    try {
      context_->getPair(other)->connect(address.bytes());
    } catch (const std::exception& error) {
      throw Failure(ncclRemoteError,
                    "connecting to rank " + std::to_string(other) + ": " + error.what());
    }
  }
}

void Transport::interrupt() {
  context_->interrupt();
  const Ticker ticker(device_);
  context_->failPairs();
}

}  // namespace hostccl
