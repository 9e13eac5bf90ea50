// Chooses the network interface, by NCCL's rules for NCCL_SOCKET_IFNAME and
// NCCL_SOCKET_FAMILY.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace hostccl {

// NCCL_SOCKET_IFNAME: "eth,ib" are prefixes, "=eth0" is exact, "^docker" excludes.
struct NameFilter {
  explicit NameFilter(const std::string& text);
  bool accepts(const std::string& name) const;

  bool exclude = false;
  bool exact = false;
  std::vector<std::string> names;
};

struct Interface {
  std::string name;
  sockaddr_storage address;
};

// The interface to use: the first that NCCL_SOCKET_IFNAME accepts; without
// it the first that is up, is not loopback and not Docker's, loopback last.
Interface chooseInterface();

// "192.0.2.1" or "fd00::1".
std::string addressText(const sockaddr_storage& address);
socklen_t addressLength(const sockaddr_storage& address);

}  // namespace hostccl
