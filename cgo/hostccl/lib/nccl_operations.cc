// The C API of nccl_api.h: what moves data.
#include <memory>

#include "answer.h"
#include "collective.h"
#include "communicator.h"
#include "exchange.h"
#include "group.h"
#include "nccl_api.h"
#include "stream.h"

using hostccl::answer;
using hostccl::Collective;
using hostccl::Communicator;
using hostccl::Group;
using hostccl::require;
using hostccl::Stream;

namespace {

std::shared_ptr<Stream> streamOf(const void* handle) {
  auto stream = Stream::find(handle);
  require(stream != nullptr, "no such stream");
  return stream;
}

void requireType(ncclDataType_t type) {
  require(type == ncclFloat32 || type == ncclInt32 || type == ncclFloat64,
          "only float32, float64 and int32 are implemented");
}

void requireRank(const Communicator& communicator, int rank, const char* text) {
  require(rank >= 0 && rank < communicator.ranks(), text);
}

ncclResult_t collective(const Collective& c, ncclRedOp_t op, ncclComm_t comm, void* stream) {
  return answer([&] {
    const auto communicator = hostccl::communicatorOf(comm);
    const auto queue = streamOf(stream);
    require(op == ncclSum, "only sums are implemented");
    requireType(c.type);
    requireRank(*communicator, c.root, "the root is no rank of the communicator");
    if (c.count == 0) return ncclSuccess;
    const bool sends = c.kind != Collective::Kind::kBroadcast || communicator->rank() == c.root;
    const bool receives = c.kind != Collective::Kind::kReduce || communicator->rank() == c.root;
    require((c.send != nullptr || !sends) && (c.recv != nullptr || !receives),
            "a buffer's address is null");
    communicator->enqueue(*queue, c);
    return ncclSuccess;
  });
}

// NCCL's functions take the memory of a send as const; a transfer that does not receive only reads it.
ncclResult_t message(bool receives, const void* memory, size_t count, ncclDataType_t type, int peer,
                     ncclComm_t comm, void* stream) {
  const ncclResult_t result = answer([&] {
    const auto communicator = hostccl::communicatorOf(comm);
    const auto queue = streamOf(stream);
    requireType(type);
    requireRank(*communicator, peer, "the peer is no rank of the communicator");
    if (count == 0) return ncclSuccess;
    require(memory != nullptr, "a buffer's address is null");
    const size_t bytes = count * hostccl::elementSize(type);
    Group::current().add(communicator, queue,
                         {receives, const_cast<void*>(memory), bytes, peer, 0});
    return ncclSuccess;
  });
  if (result != ncclSuccess) Group::current().spoil(result);
  return result;
}

}  // namespace

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, void* stream) {
  return collective({Collective::Kind::kAllReduce, send, recv, count, type, 0}, op, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* recv, size_t sendCount, ncclDataType_t type,
                           ncclComm_t comm, void* stream) {
  return collective({Collective::Kind::kAllGather, send, recv, sendCount, type, 0}, ncclSum, comm,
                    stream);
}

ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t recvCount, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, void* stream) {
  return collective({Collective::Kind::kReduceScatter, send, recv, recvCount, type, 0}, op, comm,
                    stream);
}

ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, void* stream) {
  return collective({Collective::Kind::kBroadcast, send, recv, count, type, root}, ncclSum, comm,
                    stream);
}

ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, void* stream) {
  return collective({Collective::Kind::kReduce, send, recv, count, type, root}, op, comm, stream);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, void* stream) {
  return message(false, send, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      void* stream) {
  return message(true, recv, count, type, peer, comm, stream);
}
