#include "protocol.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "channel.h"

namespace hostccl {

static_assert(sizeof(uint64_t) + sizeof(sockaddr_in6) <= sizeof(ncclUniqueId), "the id holds both");

ncclUniqueId packId(const IdContents& contents) {
  ncclUniqueId id{};
  memcpy(id.internal, &contents.key, sizeof(contents.key));
  memcpy(id.internal + sizeof(contents.key), &contents.address, sizeof(sockaddr_in6));
  return id;
}

IdContents unpackId(const ncclUniqueId& id) {
  IdContents contents{};
  memcpy(&contents.key, id.internal, sizeof(contents.key));
  memcpy(&contents.address, id.internal + sizeof(contents.key), sizeof(sockaddr_in6));
  const int family = contents.address.ss_family;
  if (contents.key == 0 || (family != AF_INET && family != AF_INET6)) {
    throw Failure(ncclInvalidArgument, "the unique id was not made by this library");
  }
  return contents;
}

Endpoint endpointOf(const sockaddr_storage& address, uint16_t port) {
  Endpoint endpoint{};
  endpoint.port = port;
  if (address.ss_family == AF_INET6) {
    endpoint.ipv6 = 1;
    memcpy(endpoint.address, &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, 16);
  } else {
    memcpy(endpoint.address, &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, 4);
  }
  return endpoint;
}

sockaddr_storage socketAddress(const Endpoint& endpoint) {
  sockaddr_storage address{};
  if (endpoint.ipv6 != 0) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint.port);
    memcpy(&v6->sin6_addr, endpoint.address, 16);
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    memcpy(&v4->sin_addr, endpoint.address, 4);
  }
  return address;
}

std::string failPayload(ncclResult_t code, const std::string& text) {
  return bytesOf(static_cast<int32_t>(code)) + text;
}

}  // namespace hostccl
