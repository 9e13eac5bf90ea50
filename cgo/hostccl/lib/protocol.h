// What ranks and root say to each other, and what a unique id holds.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "failure.h"
#include "nccl_api.h"

namespace hostccl {

constexpr int kMaxRanks = 4096;

// The first 8 bytes of an id are a secret, then comes the root's address, as
// in NCCL's own ids, so that the same diagnostics can print it.
struct IdContents {
  uint64_t key;
  sockaddr_storage address;
};
ncclUniqueId packId(const IdContents& contents);
IdContents unpackId(const ncclUniqueId& id);

// rank to root: Hello, Ready, Bye. Root to rank: Table, Go, Left, Fail.
enum FrameType : uint8_t {
  kHello = 1,  // Hello, then one port per rank
  kTable = 2,  // Table, then one Endpoint per rank
  kReady = 3,  // connected to all others
  kGo = 4,     // all ranks are ready
  kBye = 5,    // the reason for leaving early; empty when in good order
  kLeft = 6,   // int32: a rank left in good order
  kFail = 7,   // int32: ncclResult_t, then text
};

struct __attribute__((packed)) Endpoint {
  uint8_t ipv6;
  uint8_t address[16];
  uint16_t port;  // host byte order
};
Endpoint endpointOf(const sockaddr_storage& address, uint16_t port);
sockaddr_storage socketAddress(const Endpoint& endpoint);

struct __attribute__((packed)) Hello {
  uint64_t key;
  uint32_t protocol;
  int32_t ranks;
  int32_t rank;
  int32_t pid;
  uint8_t besideRoot;  // the root is a thread of the same process
  Endpoint endpoint;   // its port is unused
  char host[64];
};
constexpr uint32_t kProtocol = 1;
constexpr size_t kMaxReason = 1024;
constexpr size_t kMaxHello = sizeof(Hello) + kMaxRanks * sizeof(uint16_t);

struct __attribute__((packed)) Table {
  int32_t rootRank;  // the rank in the root's process; -1: none
};
constexpr size_t kMaxTable = sizeof(Table) + kMaxRanks * sizeof(Endpoint);

// The fixed part and the trailing array of a frame. Throws Failure unless the length fits exactly.
template <class Fixed, class Item>
struct Parsed {
  Fixed fixed;
  std::vector<Item> items;
};
template <class Fixed, class Item>
Parsed<Fixed, Item> parsePayload(const std::string& payload) {
  if (payload.size() < sizeof(Fixed) || (payload.size() - sizeof(Fixed)) % sizeof(Item) != 0) {
    throw Failure(ncclSystemError, "a message on the rendezvous connection has a wrong length");
  }
  Parsed<Fixed, Item> parsed;
  memcpy(&parsed.fixed, payload.data(), sizeof(Fixed));
  parsed.items.resize((payload.size() - sizeof(Fixed)) / sizeof(Item));
  if (!parsed.items.empty()) {
    memcpy(parsed.items.data(), payload.data() + sizeof(Fixed), payload.size() - sizeof(Fixed));
  }
  return parsed;
}

std::string failPayload(ncclResult_t code, const std::string& text);

}  // namespace hostccl
