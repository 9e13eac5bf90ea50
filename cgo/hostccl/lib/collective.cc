#include "collective.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "failure.h"
#include "pipeline.h"

namespace hostccl {

namespace {

// Gloo's own collectives use small numbers in the first byte of a slot.
constexpr uint64_t kSlotPrefix = 0x70;

// A piece costs two wake-ups of threads on each rank; small ones fill a pipeline sooner.
constexpr size_t kLeastPiece = size_t{16} << 10;
constexpr size_t kMostPiece = size_t{512} << 10;
// How many pieces are expected at a time where they come into the caller's own memory.
constexpr size_t kAhead = 32;
// How many pieces of a block travel together around the ring.
constexpr size_t kTogether = 4;
static_assert(kTogether < Relay::kDepth, "the ranks of a ring would wait for each other");

Sum sumOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt32:
      return &gloo::sum<int32_t>;
    case ncclFloat32:
      return &gloo::sum<float>;
    case ncclFloat64:
      return &gloo::sum<double>;
  }
  throw Failure(ncclInvalidArgument, "unknown data type");
}

template <class T>
void setBuffers(gloo::AllreduceOptions& options, const Collective& c) {
  // In place when no input is named. Gloo only reads its input.
  if (c.send != c.recv) options.setInput(static_cast<T*>(const_cast<void*>(c.send)), c.count);
  options.setOutput(static_cast<T*>(c.recv), c.count);
}

// One rank's view of one operation.
class Performance {
 public:
  Performance(const Transport& transport, const Collective& collective, uint32_t tag)
      : t_(transport),
        c_(collective),
        tag_(tag),
        slot_(kSlotPrefix << 56 | uint64_t{tag} << 24),
        ranks_(static_cast<size_t>(transport.ranks())),
        bytes_(collective.count * elementSize(collective.type)),
        send_(static_cast<const char*>(collective.send)),
        recv_(static_cast<char*>(collective.recv)) {}

  void allReduce();
  void allGather();
  void reduceScatter();
  void broadcast();
  void reduce();

 private:
  int next() const { return (t_.rank() + 1) % t_.ranks(); }
  int previous() const { return (t_.rank() + t_.ranks() - 1) % t_.ranks(); }
  // Where the block begins that is so many ranks behind this one's.
  size_t blockBehind(size_t steps) const {
    return (static_cast<size_t>(t_.rank()) + 2 * ranks_ - steps) % ranks_ * bytes_;
  }
  // How many ranks stand before this one in a chain that the given rank begins.
  int placeBehind(int first) const { return (t_.rank() + t_.ranks() - first) % t_.ranks(); }
  // Pieces of bytes_, each about one of so many.
  std::vector<Piece> pieces(size_t parts) const;
  void forward(Inlet& in, Outlet& out, const std::vector<Piece>& pieces, bool first, bool last);

  const Transport& t_;
  const Collective& c_;
  const uint32_t tag_;
  const uint64_t slot_;
  const size_t ranks_;
  const size_t bytes_;  // of the message, or of one block
  const char* const send_;
  char* const recv_;
};

std::vector<Piece> Performance::pieces(size_t parts) const {
  constexpr size_t kAlignment = 64;
  const size_t about = std::clamp(bytes_ / parts, kLeastPiece, kMostPiece);
  return cut(bytes_, about / kAlignment * kAlignment);
}

void Performance::allReduce() {
  gloo::AllreduceOptions options(t_.group());
  if (c_.type == ncclInt32) setBuffers<int32_t>(options, c_);
  if (c_.type == ncclFloat32) setBuffers<float>(options, c_);
  if (c_.type == ncclFloat64) setBuffers<double>(options, c_);
  options.setReduceFunction(sumOf(c_.type));
  options.setTag(tag_);
  options.setTimeout(t_.timeout());
  gloo::allreduce(options);
}

// Around the ring: each rank passes on every block but the one that the next rank sent first.
void Performance::allGather() {
  memmove(recv_ + blockBehind(0), send_, bytes_);
  const auto block = pieces(kTogether);
  const auto piece = [&](size_t index, size_t behind) {
    const Piece& part = block[index % block.size()];
    return Piece{blockBehind(index / block.size() + behind) + part.offset, part.bytes};
  };
  const size_t total = (ranks_ - 1) * block.size();
  Inlet in(t_, previous(), slot_, recv_, ranks_ * bytes_);
  Outlet out(t_, next(), slot_, recv_, ranks_ * bytes_);
  for (size_t i = 0; i < std::min(total, kAhead); i++) in.post(piece(i, 1));
  // A piece goes out one block after it came in.
  for (size_t i = 0; i < total + block.size(); i++) {
    if (i >= block.size()) {
      in.await();
      const size_t further = i - block.size() + kAhead;
      if (further < total) in.post(piece(further, 1));
    }
    if (i < total) out.post(piece(i, 0));
  }
  out.drain();
}

// Around the ring: the sum of a block begins behind its rank and ends there. A
// few pieces of all blocks go around together, so that a few pieces of memory suffice.
void Performance::reduceScatter() {
  const auto block = pieces(kTogether);
  std::vector<size_t> lengths;
  const auto each = [&](const auto& visit) {
    for (size_t begin = 0; begin < block.size(); begin += kTogether) {
      const size_t end = std::min(begin + kTogether, block.size());
      for (size_t step = 0; step < ranks_; step++) {
        for (size_t i = begin; i < end; i++) visit(step, block[i]);
      }
    }
  };
  each([&](size_t step, const Piece& piece) {
    if (step > 0) lengths.push_back(piece.bytes);
  });
  Relay relay(t_, {previous(), next(), slot_}, sumOf(c_.type), elementSize(c_.type), lengths);
  Outlet out(t_, next(), slot_, send_, ranks_ * bytes_);
  each([&](size_t step, const Piece& piece) {
    const size_t own = blockBehind(step + 1) + piece.offset;
    if (step == 0) {
      out.post({own, piece.bytes});
    } else {
      relay.take(send_ + own, step + 1 == ranks_ ? recv_ + piece.offset : nullptr);
    }
  });
  relay.drain();
  out.drain();
}

// Along the chain of ranks that the root begins.
void Performance::broadcast() {
  const int place = placeBehind(c_.root);
  const bool last = place == t_.ranks() - 1;
  if (place == 0) memmove(recv_, send_, bytes_);
  const auto all = pieces(kTogether * kTogether * ranks_);
  Inlet in(t_, previous(), slot_, recv_, bytes_);
  Outlet out(t_, next(), slot_, recv_, bytes_);
  forward(in, out, all, place == 0, last);
  out.drain();
}

void Performance::forward(Inlet& in, Outlet& out, const std::vector<Piece>& pieces, bool first,
                          bool last) {
  for (size_t i = 0; i < std::min(pieces.size(), kAhead) && !first; i++) in.post(pieces[i]);
  for (size_t i = 0; i < pieces.size(); i++) {
    if (!first) {
      in.await();
      if (i + kAhead < pieces.size()) in.post(pieces[i + kAhead]);
    }
    if (!last) out.post(pieces[i]);
  }
}

// Along the chain of ranks that the root ends.
void Performance::reduce() {
  const int place = placeBehind((c_.root + 1) % t_.ranks());
  const auto all = pieces(kTogether * kTogether * ranks_);
  if (place == 0) {
    Outlet out(t_, next(), slot_, send_, bytes_);
    for (const Piece& piece : all) out.post(piece);
    return out.drain();
  }
  std::vector<size_t> lengths;
  for (const Piece& piece : all) lengths.push_back(piece.bytes);
  Relay relay(t_, {previous(), next(), slot_}, sumOf(c_.type), elementSize(c_.type), lengths);
  for (const Piece& piece : all) {
    relay.take(send_ + piece.offset, t_.rank() == c_.root ? recv_ + piece.offset : nullptr);
  }
  relay.drain();
}

}  // namespace

size_t elementSize(ncclDataType_t type) { return type == ncclFloat64 ? 8 : 4; }

void perform(const Transport* transport, const Collective& collective, uint32_t tag) {
  if (transport == nullptr) {
    memmove(collective.recv, collective.send, collective.count * elementSize(collective.type));
    return;
  }
  Performance performance(*transport, collective, tag);
  switch (collective.kind) {
    case Collective::Kind::kAllReduce:
      return performance.allReduce();
    case Collective::Kind::kAllGather:
      return performance.allGather();
    case Collective::Kind::kReduceScatter:
      return performance.reduceScatter();
    case Collective::Kind::kBroadcast:
      return performance.broadcast();
    case Collective::Kind::kReduce:
      return performance.reduce();
  }
}

}  // namespace hostccl
