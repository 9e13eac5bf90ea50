#include "pipeline.h"

#include <algorithm>
#include <utility>

namespace hostccl {

std::vector<Piece> cut(size_t bytes, size_t pieceBytes) {
  std::vector<Piece> pieces;
  for (size_t offset = 0; offset < bytes; offset += pieceBytes) {
    pieces.push_back({offset, std::min(pieceBytes, bytes - offset)});
  }
  return pieces;
}

Inlet::Inlet(const Transport& transport, int from, uint64_t slot, void* memory, size_t bytes)
    : from_(from),
      slot_(slot),
      timeout_(transport.timeout()),
      buffer_(transport.buffers().createUnboundBuffer(memory, bytes)) {}

void Inlet::post(const Piece& piece) { buffer_->recv(from_, slot_, piece.offset, piece.bytes); }

void Inlet::await() { buffer_->waitRecv(nullptr, timeout_); }

// Gloo only reads what it sends.
Outlet::Outlet(const Transport& transport, int to, uint64_t slot, const void* memory, size_t bytes)
    : to_(to),
      slot_(slot),
      timeout_(transport.timeout()),
      buffer_(transport.buffers().createUnboundBuffer(const_cast<void*>(memory), bytes)) {}

void Outlet::post(const Piece& piece) {
  buffer_->send(to_, slot_, piece.offset, piece.bytes);
  underWay_++;
}

void Outlet::await() {
  buffer_->waitSend(nullptr, timeout_);
  underWay_--;
}

void Outlet::drain() {
  while (underWay_ > 0) await();
}

Relay::Relay(const Transport& transport, const Path& path, Sum sum, size_t elementSize,
             std::vector<size_t> lengths)
    : sum_(sum),
      elementSize_(elementSize),
      lengths_(std::move(lengths)),
      placeBytes_(lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end())),
      places_(std::min(kDepth, lengths_.size())),
      memory_(placeBytes_ * places_),
      in_(transport, path.from, path.slot, memory_.data(), memory_.size()),
      out_(transport, path.to, path.slot, memory_.data(), memory_.size()) {
  while (posted_ < places_) post();
}

Piece Relay::place(size_t index) const {
  return {index % places_ * placeBytes_, lengths_[index]};
}

void Relay::post() { in_.post(place(posted_++)); }

void Relay::take(const void* own, void* keep) {
  const Piece piece = place(taken_++);
  in_.await();
  char* const received = memory_.data() + piece.offset;
  sum_(keep == nullptr ? received : keep, received, own, piece.bytes / elementSize_);
  if (keep == nullptr) out_.post(piece);
  passedOn_.push_back(keep == nullptr);
  // Half of the places wait for pieces to come, half for pieces to go.
  if (passedOn_.size() > places_ / 2) recycle();
}

void Relay::recycle() {
  if (passedOn_.front()) out_.await();
  passedOn_.pop_front();
  if (posted_ < lengths_.size()) post();
}

}  // namespace hostccl
