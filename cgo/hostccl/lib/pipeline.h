// Messages in pieces: while one piece is on its way out, the next comes in.
// Pieces of one pipeline are done in the order in which they were posted.
#pragma once

#include <gloo/transport/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transport.h"

namespace hostccl {

// A part of a buffer, in bytes.
struct Piece {
  size_t offset;
  size_t bytes;
};

// Cuts bytes into pieces of this size; the last may be shorter.
std::vector<Piece> cut(size_t bytes, size_t pieceBytes);

// Pieces that come from one rank. All methods throw Failure.
class Inlet {
 public:
  Inlet(const Transport& transport, int from, uint64_t slot, void* memory, size_t bytes);
  void post(const Piece& piece);
  // Blocks until the oldest piece is there.
  void await();

 private:
  const int from_;
  const uint64_t slot_;
  const Milliseconds timeout_;
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

// Pieces that go to one rank. All methods throw Failure.
class Outlet {
 public:
  Outlet(const Transport& transport, int to, uint64_t slot, const void* memory, size_t bytes);
  void post(const Piece& piece);
  // Blocks until the oldest piece is out, so that its memory may change.
  void await();
  // Blocks until all are.
  void drain();

 private:
  const int to_;
  const uint64_t slot_;
  const Milliseconds timeout_;
  size_t underWay_ = 0;
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

// Adds one element after another: to, a, b, number of elements.
using Sum = void (*)(void*, const void*, const void*, size_t);

// Adds this rank's data to pieces that come from one rank, and passes the sums
// on to another or keeps them. Its memory is a few pieces, however many pass.
class Relay {
 public:
  struct Path {
    int from;
    int to;
    uint64_t slot;
  };
  // lengths are the bytes of all pieces that will come. The pieces that the other rank starts before
  // it has taken one of ours must be fewer than kDepth, or all would wait for each other.
  Relay(const Transport& transport, const Path& path, Sum sum, size_t elementSize,
        std::vector<size_t> lengths);
  // The next piece and own data make a sum, which goes to keep, or on where that is null.
  void take(const void* own, void* keep);
  void drain() { out_.drain(); }

  static constexpr size_t kDepth = 16;

 private:
  Piece place(size_t index) const;
  void post();
  void recycle();

  const Sum sum_;
  const size_t elementSize_;
  const std::vector<size_t> lengths_;
  const size_t placeBytes_;
  const size_t places_;
  std::vector<char> memory_;
  size_t posted_ = 0;
  size_t taken_ = 0;
  std::deque<bool> passedOn_;  // of the pieces whose place is not free yet
  Inlet in_;
  Outlet out_;
};

}  // namespace hostccl
