#include "root_link.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "interface.h"

namespace hostccl {

namespace {

std::string rootName(const sockaddr_storage& root) {
  const uint16_t port = root.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6*>(&root)->sin6_port
                            : reinterpret_cast<const sockaddr_in*>(&root)->sin_port;
  return "the rendezvous at " + addressText(root) + " port " + std::to_string(ntohs(port)) +
         " (in the process that made the unique id)";
}

void waitFor(int fd, short events, Clock::time_point deadline, int wake, const std::string& what) {
  std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{wake, POLLIN, 0}};
  while (fds[0].revents == 0) {
    const int ready = poll(fds.data(), fds.size(), pollTimeout(deadline));
    if (ready < 0 && errno != EINTR) throw systemFailure("poll");
    if (ready == 0) throw Failure(ncclSystemError, what + " within the time limit (HOSTCCL_TIMEOUT)");
    if (ready > 0 && fds[1].revents != 0) throw Failure(ncclInternalError, "interrupted");
  }
}

}  // namespace

Channel connectToRoot(const sockaddr_storage& root, Clock::time_point deadline, int wake) {
  Descriptor socket(::socket(root.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) throw systemFailure("socket");
  const auto* address = reinterpret_cast<const sockaddr*>(&root);
  int error = connect(socket.get(), address, addressLength(root)) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    waitFor(socket.get(), POLLOUT, deadline, wake, "cannot reach " + rootName(root));
    socklen_t length = sizeof(error);
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error != 0) {
    errno = error;
    throw systemFailure("cannot reach " + rootName(root));
  }
  return Channel(std::move(socket), kMaxTable);
}

Frame awaitFrame(Channel& channel, FrameType type, Clock::time_point deadline, int wake) {
  for (;;) {
    if (auto frame = channel.next()) {
      if (frame->type == kFail) throw failureOf(*frame);
      if (frame->type != type) throw Failure(ncclSystemError, "unexpected message from the root");
      return *frame;
    }
    if (channel.ended()) {
      throw Failure(ncclRemoteError, "the process that made the unique id ended during init");
    }
    waitFor(channel.fd(), channel.events(), deadline, wake, "the other ranks did not come");
    channel.flush();
    channel.receive();
  }
}

Failure failureOf(const Frame& frame) {
  int32_t code = ncclInternalError;
  if (frame.payload.size() < sizeof(code)) return Failure(ncclInternalError, "bad message");
  memcpy(&code, frame.payload.data(), sizeof(code));
  return Failure(static_cast<ncclResult_t>(code), frame.payload.substr(sizeof(code)));
}

}  // namespace hostccl
