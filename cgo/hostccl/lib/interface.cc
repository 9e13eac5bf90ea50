#include "interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <tuple>

#include "failure.h"

namespace hostccl {

NameFilter::NameFilter(const std::string& text) {
  size_t start = 0;
  if (start < text.size() && text[start] == '^') {
    exclude = true;
    start++;
  }
  if (start < text.size() && text[start] == '=') {
    exact = true;
    start++;
  }
  std::istringstream list(text.substr(start));
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
}

bool NameFilter::accepts(const std::string& name) const {
  const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& wanted) {
    return exact ? name == wanted : name.compare(0, wanted.size(), wanted) == 0;
  });
  return named != exclude;
}

namespace {

struct Candidate {
  Interface interface;
  bool loopback;
  bool docker;
};

int wantedFamily() {
  const char* text = getenv("NCCL_SOCKET_FAMILY");
  if (text == nullptr || *text == '\0') return AF_UNSPEC;
  if (strcmp(text, "AF_INET") == 0) return AF_INET;
  if (strcmp(text, "AF_INET6") == 0) return AF_INET6;
  throw Failure(ncclInvalidArgument,
                std::string("NCCL_SOCKET_FAMILY=") + text + " is neither AF_INET nor AF_INET6");
}

bool usable(const ifaddrs& entry, int family) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return false;
  const int actual = entry.ifa_addr->sa_family;
  if (actual != AF_INET && actual != AF_INET6) return false;
  if (family != AF_UNSPEC && actual != family) return false;
  if (actual == AF_INET) return true;
  // A link-local address means nothing without its link.
  sockaddr_in6 address;
  memcpy(&address, entry.ifa_addr, sizeof(address));
  return !IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr);
}

std::vector<Candidate> candidates() {
  ifaddrs* head = nullptr;
  if (getifaddrs(&head) != 0) throw systemFailure("listing network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(head, freeifaddrs);
  const int family = wantedFamily();
  std::vector<Candidate> found;
  for (const ifaddrs* entry = head; entry != nullptr; entry = entry->ifa_next) {
    if (!usable(*entry, family)) continue;
    Candidate candidate{};
    candidate.interface.name = entry->ifa_name;
    const bool v4 = entry->ifa_addr->sa_family == AF_INET;
    memcpy(&candidate.interface.address, entry->ifa_addr,
           v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    candidate.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    candidate.docker = candidate.interface.name.compare(0, 6, "docker") == 0;
    found.push_back(candidate);
  }
  return found;
}

// Smaller is better. IPv4 comes before IPv6, as in NCCL.
std::tuple<bool, bool, bool> rankOf(const Candidate& candidate) {
  return {candidate.loopback, candidate.docker, candidate.interface.address.ss_family != AF_INET};
}

}  // namespace

Interface chooseInterface() {
  auto found = candidates();
  const char* text = getenv("NCCL_SOCKET_IFNAME");
  if (text != nullptr && *text != '\0') {
    const NameFilter filter(text);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const Candidate& candidate) {
                                 return !filter.accepts(candidate.interface.name);
                               }),
                found.end());
    if (found.empty()) {
      throw Failure(ncclInvalidUsage, std::string("no network interface that is up and has an "
                                                  "address matches NCCL_SOCKET_IFNAME=") +
                                          text);
    }
  }
  if (found.empty()) {
    throw Failure(ncclSystemError, "no network interface is up and has an address");
  }
  return std::min_element(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
           return rankOf(a) < rankOf(b);
         })->interface;
}

std::string addressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
  } else {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
  }
  return text;
}

socklen_t addressLength(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace hostccl
