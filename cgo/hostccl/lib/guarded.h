// A Gloo transport whose waiters can be woken. An error on a Gloo pair wakes
// neither a half-written send nor a half-read receive, so every buffer that
// Gloo's collectives create is wrapped and registered here.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace hostccl {

class GuardedBuffer;

class GuardedContext : public gloo::transport::Context {
 public:
  explicit GuardedContext(std::shared_ptr<gloo::transport::Context> inner);

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* ptr,
                                                                      size_t size) override;

  // Wakes all who wait now and all who ever will. From any thread.
  void interrupt();
  // Throws Failure after interrupt.
  void check() const;
  // Puts every pair into its error state, which also ends a connect.
  void failPairs();

 private:
  friend class GuardedBuffer;

  const std::shared_ptr<gloo::transport::Context> inner_;
  std::atomic<bool> interrupted_{false};
  std::mutex buffersMutex_;
  std::set<GuardedBuffer*> buffers_;
};

class GuardedBuffer : public gloo::transport::UnboundBuffer {
 public:
  GuardedBuffer(GuardedContext& context, std::unique_ptr<gloo::transport::UnboundBuffer> inner);
  ~GuardedBuffer() override;

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override;
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override;
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int rank, uint64_t slot, size_t offset, size_t bytes) override;
  void recv(int rank, uint64_t slot, size_t offset, size_t bytes) override;
  void recv(std::vector<int> ranks, uint64_t slot, size_t offset, size_t bytes) override;

 private:
  GuardedContext& context_;
  const std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  // For messages: whom the last operation was with; -1 for any.
  int sendRank_ = -1;
  int recvRank_ = -1;
};

}  // namespace hostccl
