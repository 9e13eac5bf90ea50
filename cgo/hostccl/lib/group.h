// What a thread has called between ncclGroupStart and ncclGroupEnd.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "communicator.h"
#include "exchange.h"
#include "nccl_api.h"
#include "stream.h"

namespace hostccl {

// Sends, receives and blocking inits wait for the end of the group; other
// operations are queued at once, since none of them waits for its caller.
class Group {
 public:
  // The calling thread's.
  static Group& current();

  bool open() const { return depth_ > 0; }
  void start() { depth_++; }
  // At the outermost end, does what waited. Throws Failure.
  ncclResult_t end();

  // Waits for an init that has begun; at the end of the group where one is open.
  ncclResult_t init(const std::function<ncclResult_t()>& wait);
  // Outside a group, a message is a group of its own. Throws Failure.
  void add(const std::shared_ptr<Communicator>& communicator, const std::shared_ptr<Stream>& stream,
           const Transfer& transfer);
  // A call in the group failed: nothing of it will be sent or received.
  void spoil(ncclResult_t code);

 private:
  // The messages of one communicator.
  struct Batch {
    std::shared_ptr<Communicator> communicator;
    std::shared_ptr<Stream> stream;
    std::vector<Transfer> transfers;
  };
  static void check(const Batch& batch);

  int depth_ = 0;
  ncclResult_t spoilt_ = ncclSuccess;
  std::vector<std::function<ncclResult_t()>> inits_;
  std::vector<Batch> batches_;
};

}  // namespace hostccl
