#include "guarded.h"

#include <gloo/common/error.h>

#include <string>
#include <utility>

#include "failure.h"

namespace hostccl {

namespace {

// Gloo's texts begin with "[file:line] ".
std::string withoutPlace(const std::string& text) {
  const size_t end = text[0] == '[' ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

std::string peer(int rank) { return rank < 0 ? "any rank" : "rank " + std::to_string(rank); }

Failure remoteFailure(const std::string& action, int rank, const std::exception& error) {
  return Failure(ncclRemoteError, action + peer(rank) + ": " + withoutPlace(error.what()));
}

}  // namespace

GuardedContext::GuardedContext(std::shared_ptr<gloo::transport::Context> inner)
    : gloo::transport::Context(inner->rank, inner->size), inner_(std::move(inner)) {}

std::unique_ptr<gloo::transport::Pair>& GuardedContext::getPair(int rank) {
  return inner_->getPair(rank);
}

std::unique_ptr<gloo::transport::Pair>& GuardedContext::createPair(int rank) {
  return inner_->createPair(rank);
}

std::unique_ptr<gloo::transport::UnboundBuffer> GuardedContext::createUnboundBuffer(void* ptr,
                                                                                    size_t size) {
  return std::make_unique<GuardedBuffer>(*this, inner_->createUnboundBuffer(ptr, size));
}

void GuardedContext::interrupt() {
  const std::lock_guard<std::mutex> lock(buffersMutex_);
  interrupted_ = true;
  for (auto* buffer : buffers_) {
    buffer->abortWaitRecv();
    buffer->abortWaitSend();
  }
}

void GuardedContext::check() const {
  if (interrupted_) throw Failure(ncclInternalError, "interrupted");
}

void GuardedContext::failPairs() {
  // A wait that times out is the one public way to reach all pairs.
  char byte = 0;
  const auto buffer = inner_->createUnboundBuffer(&byte, sizeof(byte));
  try {
    buffer->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (const gloo::IoException&) {
    // As intended.
  }
}

GuardedBuffer::GuardedBuffer(GuardedContext& context,
                             std::unique_ptr<gloo::transport::UnboundBuffer> inner)
    : gloo::transport::UnboundBuffer(inner->ptr, inner->size),
      context_(context),
      inner_(std::move(inner)) {
  const std::lock_guard<std::mutex> lock(context_.buffersMutex_);
  context_.check();
  context_.buffers_.insert(this);
}

GuardedBuffer::~GuardedBuffer() {
  const std::lock_guard<std::mutex> lock(context_.buffersMutex_);
  context_.buffers_.erase(this);
}

bool GuardedBuffer::waitRecv(int* rank, std::chrono::milliseconds timeout) {
  try {
    inner_->waitRecv(rank, timeout);
  } catch (const gloo::IoException& error) {
    throw remoteFailure("receiving from ", recvRank_, error);
  }
  context_.check();
  return true;
}

bool GuardedBuffer::waitSend(int* rank, std::chrono::milliseconds timeout) {
  try {
    inner_->waitSend(rank, timeout);
  } catch (const gloo::IoException& error) {
    throw remoteFailure("sending to ", sendRank_, error);
  }
  context_.check();
  return true;
}

void GuardedBuffer::send(int rank, uint64_t slot, size_t offset, size_t bytes) {
  context_.check();
  sendRank_ = rank;
  try {
    inner_->send(rank, slot, offset, bytes);
  } catch (const gloo::IoException& error) {
    throw remoteFailure("sending to ", rank, error);
  }
}

void GuardedBuffer::recv(int rank, uint64_t slot, size_t offset, size_t bytes) {
  context_.check();
  recvRank_ = rank;
  try {
    inner_->recv(rank, slot, offset, bytes);
  } catch (const gloo::IoException& error) {
    throw remoteFailure("receiving from ", rank, error);
  }
}

void GuardedBuffer::recv(std::vector<int> ranks, uint64_t slot, size_t offset, size_t bytes) {
  context_.check();
  recvRank_ = -1;
  inner_->recv(std::move(ranks), slot, offset, bytes);
}

}  // namespace hostccl
