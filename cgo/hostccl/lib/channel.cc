#include "channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.h"

namespace hostccl {

namespace {

struct __attribute__((packed)) Header {
  uint32_t length;
  uint8_t type;
};

// Best effort: without the option we only learn later or wait longer.
void setOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Channel::Channel(Descriptor socket, size_t maxPayload)
    : socket_(std::move(socket)), maxPayload_(maxPayload) {
  setOption(fd(), SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd(), IPPROTO_TCP, TCP_KEEPIDLE, 5);
  setOption(fd(), IPPROTO_TCP, TCP_KEEPINTVL, 2);
  setOption(fd(), IPPROTO_TCP, TCP_KEEPCNT, 3);
  setOption(fd(), IPPROTO_TCP, TCP_NODELAY, 1);
}

short Channel::events() const { return static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT); }

void Channel::send(uint8_t type, const std::string& payload) {
  out_ += bytesOf(Header{static_cast<uint32_t>(payload.size()), type});
  out_ += payload;
  flush();
}

void Channel::flush() {
  while (!out_.empty() && !ended_) {
    const ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      out_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      // What the peer wrote before it broke is still to be read.
      out_.clear();
    }
  }
}

void Channel::receive() {
  std::array<char, 4096> chunk;
  while (!ended_ && in_.size() <= maxPayload_ + sizeof(Header)) {
    const ssize_t got = recv(fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got > 0) {
      in_.append(chunk.data(), static_cast<size_t>(got));
    } else if (got == 0) {
      ended_ = true;
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      ended_ = true;
      unreachable_ = errno == ETIMEDOUT || errno == EHOSTUNREACH;
    }
  }
}

std::optional<Frame> Channel::next() {
  Header header;
  if (in_.size() < sizeof(header)) return std::nullopt;
  memcpy(&header, in_.data(), sizeof(header));
  if (header.length > maxPayload_) {
    throw Failure(ncclSystemError, "a message of " + std::to_string(header.length) +
                                       " bytes on the rendezvous connection is too long");
  }
  if (in_.size() < sizeof(header) + header.length) return std::nullopt;
  Frame frame{header.type, in_.substr(sizeof(header), header.length)};
  in_.erase(0, sizeof(header) + header.length);
  return frame;
}

}  // namespace hostccl
