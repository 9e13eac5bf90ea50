#include "group.h"

#include <algorithm>
#include <utility>

#include "answer.h"

namespace hostccl {

Group& Group::current() {
  thread_local Group group;
  return group;
}

ncclResult_t Group::end() {
  if (depth_ == 0) throw Failure(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth_ > 0) return ncclSuccess;
  ncclResult_t result = std::exchange(spoilt_, ncclSuccess);
  for (const auto& wait : std::exchange(inits_, {})) {
    const ncclResult_t one = answer(wait);
    if (result == ncclSuccess) result = one;
  }
  const auto batches = std::exchange(batches_, {});
  if (result != ncclSuccess) return result;
  for (const Batch& batch : batches) check(batch);
  for (const Batch& batch : batches) batch.communicator->enqueue(*batch.stream, batch.transfers);
  return ncclSuccess;
}

ncclResult_t Group::init(const std::function<ncclResult_t()>& wait) {
  if (!open()) return wait();
  inits_.push_back(wait);
  return ncclSuccess;
}

void Group::add(const std::shared_ptr<Communicator>& communicator,
                const std::shared_ptr<Stream>& stream, const Transfer& transfer) {
  auto batch = std::find_if(batches_.begin(), batches_.end(),
                            [&](const Batch& one) { return one.communicator == communicator; });
  if (batch == batches_.end()) {
    batch = batches_.insert(batches_.end(), {communicator, stream, {}});
  }
  if (batch->stream != stream) {
    throw Failure(ncclInvalidUsage, "all sends and receives of a group go to one stream");
  }
  batch->transfers.push_back(transfer);
  if (open()) return;
  start();
  if (end() != ncclSuccess) throw Failure(ncclInternalError, "a group of one message was spoilt");
}

void Group::spoil(ncclResult_t code) {
  if (open() && spoilt_ == ncclSuccess) spoilt_ = code;
}

// A message to oneself is copied, so both its ends must be there.
void Group::check(const Batch& batch) {
  std::vector<size_t> sent;
  std::vector<size_t> received;
  for (const Transfer& one : batch.transfers) {
    if (one.peer != batch.communicator->rank()) continue;
    (one.receives ? received : sent).push_back(one.bytes);
  }
  if (sent == received) return;
  throw Failure(ncclInvalidUsage,
                "a message to oneself needs its send and its receive, of one size, in the same group");
}

}  // namespace hostccl
