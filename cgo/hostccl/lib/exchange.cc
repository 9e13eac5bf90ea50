#include "exchange.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

namespace hostccl {

namespace {

constexpr uint64_t kSlotPrefix = 0x71;

// How many messages come in at a time. Gloo's senders wait for their receiver,
// so this bounds the senders of every rank at once: many more than a few would
// fill the switch before this rank's port and lose packets.
constexpr size_t kAtOnce = 4;

class Exchange {
 public:
  explicit Exchange(const Transport& transport) : t_(transport) {}

  void run(const std::vector<Transfer>& sends, const std::vector<Transfer>& receives) {
    Buffers in;
    // Requests before data: they share a connection with what we send to the same rank.
    while (in.size() < std::min(receives.size(), kAtOnce)) request(in, receives[in.size()]);
    Buffers out;
    for (const Transfer& send : sends) {
      out.push_back(t_.buffers().createUnboundBuffer(send.memory, send.bytes));
      out.back()->send(send.peer, slotOf(send));
    }
    for (size_t i = 0; i < receives.size(); i++) {
      in[i]->waitRecv(nullptr, t_.timeout());
      if (in.size() < receives.size()) request(in, receives[in.size()]);
    }
    for (const auto& buffer : out) buffer->waitSend(nullptr, t_.timeout());
  }

 private:
  using Buffers = std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>;

  static uint64_t slotOf(const Transfer& transfer) {
    return kSlotPrefix << 56 | uint64_t{transfer.number} << 24;
  }

  void request(Buffers& in, const Transfer& receive) {
    in.push_back(t_.buffers().createUnboundBuffer(receive.memory, receive.bytes));
    in.back()->recv(receive.peer, slotOf(receive));
  }

  const Transport& t_;
};

// The messages of one direction, to or from the nearest rank first, so that
// at each moment every rank sends to another one and receives from another one.
std::vector<Transfer> nearestFirst(const std::vector<Transfer>& group, bool receives,
                                   const Transport& transport) {
  std::vector<Transfer> found;
  std::copy_if(group.begin(), group.end(), std::back_inserter(found), [&](const Transfer& one) {
    return one.receives == receives && one.peer != transport.rank();
  });
  const auto distance = [&](const Transfer& one) {
    const int ahead = (one.peer - transport.rank() + transport.ranks()) % transport.ranks();
    return receives ? transport.ranks() - ahead : ahead;
  };
  std::stable_sort(found.begin(), found.end(), [&](const Transfer& a, const Transfer& b) {
    return distance(a) < distance(b);
  });
  return found;
}

void copyToOneself(const std::vector<Transfer>& group, int rank) {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (const Transfer& one : group) {
    if (one.peer == rank) (one.receives ? receives : sends).push_back(one);
  }
  for (size_t i = 0; i < sends.size(); i++) {
    memmove(receives[i].memory, sends[i].memory, sends[i].bytes);
  }
}

}  // namespace

void exchange(const Transport* transport, int rank, const std::vector<Transfer>& group) {
  copyToOneself(group, rank);
  if (transport == nullptr) return;
  Exchange(*transport).run(nearestFirst(group, false, *transport),
                           nearestFirst(group, true, *transport));
}

}  // namespace hostccl
