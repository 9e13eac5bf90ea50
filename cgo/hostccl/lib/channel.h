// A non-blocking TCP connection that carries frames: length, type, payload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace hostccl {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Frame {
  uint8_t type;
  std::string payload;
};

class Channel {
 public:
  // Probes an idle peer every few seconds, so that a dead machine is noticed too.
  Channel(Descriptor socket, size_t maxPayload);

  int fd() const { return socket_.get(); }
  // The events to poll for.
  short events() const;

  // Queues a frame and writes as much as the socket takes.
  void send(uint8_t type, const std::string& payload);
  void flush();
  // Reads what there is. The frames that came with the end can still be taken.
  void receive();
  // The next complete frame. Throws Failure when the peer announces a longer payload than allowed.
  std::optional<Frame> next();
  // The peer has closed, or the connection broke.
  bool ended() const { return ended_; }
  // Nothing came back for a while: the network or the machine is gone, not only the process.
  bool unreachable() const { return unreachable_; }

 private:
  Descriptor socket_;
  const size_t maxPayload_;
  std::string in_;
  std::string out_;
  bool ended_ = false;
  bool unreachable_ = false;
};

// Plain structures as bytes. Both ends are built from the same source for machines of the same byte order.
template <class T>
std::string bytesOf(const T& value) {
  static_assert(std::is_trivially_copyable<T>::value, "only plain structures travel");
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace hostccl
