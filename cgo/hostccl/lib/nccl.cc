// The C API of nccl_api.h: versions, communicators and groups. The operations
// are in nccl_operations.cc.
#include <climits>
#include <cstring>
#include <memory>

#include "answer.h"
#include "communicator.h"
#include "group.h"
#include "handles.h"
#include "nccl_api.h"
#include "root.h"

using hostccl::answer;
using hostccl::Communicator;
using hostccl::failed;
using hostccl::Group;
using hostccl::Handles;
using hostccl::require;

namespace {

// What this library implements is NCCL 2.14's API.
constexpr int kVersion = 21400;

// The end of a blocking init.
ncclResult_t await(const std::shared_ptr<Communicator>& communicator, ncclComm_t* handle) {
  const ncclResult_t result = communicator->waitInitialised();
  if (result == ncclSuccess) return result;
  const std::string detail = communicator->detail();
  Handles<Communicator>::process().remove(*handle);
  *handle = nullptr;
  communicator->close(true);
  return failed(result, detail);
}

ncclResult_t init(ncclComm_t* comm, const ncclUniqueId& id, const Communicator::Place& place) {
  require(comm != nullptr, "the communicator's address is null");
  *comm = nullptr;
  const auto communicator = Communicator::start(id, place);
  *comm = static_cast<ncclComm_t>(Handles<Communicator>::process().add(communicator));
  if (!place.blocking) return ncclInProgress;
  return Group::current().init([communicator, comm] { return await(communicator, comm); });
}

bool blockingOf(const void* config) {
  if (config == nullptr) return true;
  ncclConfigHead head{};
  memcpy(&head.size, config, sizeof(head.size));
  require(head.size >= sizeof(head), "ncclConfig_t is too short");
  memcpy(&head, config, sizeof(head));
  require(head.magic == NCCL_CONFIG_MAGIC, "ncclConfig_t was not initialised");
  require(head.blocking == 0 || head.blocking == 1 || head.blocking == INT_MIN,
          "ncclConfig_t.blocking is neither 0 nor 1");
  return head.blocking != 0;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return failed(ncclInvalidArgument, "the version's address is null");
  *version = kVersion;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return answer([&] {
    require(id != nullptr, "the id's address is null");
    *id = hostccl::Root::start();
    return ncclSuccess;
  });
}

// NCCL's binary interface passes the id by value.
// cppcheck-suppress passedByValue
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return answer([&] { return init(comm, id, {ranks, rank, true}); });
}

// cppcheck-suppress passedByValue
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    void* config) {
  return answer([&] { return init(comm, id, {ranks, rank, blockingOf(config)}); });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answer([&] {
    const auto communicator = hostccl::communicatorOf(comm);
    communicator->finalize();
    if (communicator->blocking()) communicator->finish();
    return communicator->status();
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return answer([&] {
    hostccl::communicatorOf(comm)->finish();
    const auto communicator = Handles<Communicator>::process().remove(comm);
    require(communicator != nullptr, "no such communicator");
    communicator->close(false);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return answer([&] {
    const auto communicator = Handles<Communicator>::process().remove(comm);
    require(communicator != nullptr, "no such communicator");
    communicator->close(true);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  return answer([&] {
    require(result != nullptr, "the result's address is null");
    *result = hostccl::communicatorOf(comm)->status();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer([&] {
    require(count != nullptr, "the count's address is null");
    *count = hostccl::communicatorOf(comm)->ranks();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer([&] {
    require(rank != nullptr, "the rank's address is null");
    *rank = hostccl::communicatorOf(comm)->rank();
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled device error";
    case ncclSystemError:
      return "system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process ended or network error";
    case ncclInProgress:
      return "in progress";
  }
  return "unknown result code";
}

// The text stays valid until the same thread asks again.
const char* ncclGetLastError(ncclComm_t comm) {
  thread_local std::string text;
  const auto communicator = Handles<Communicator>::process().find(comm);
  text = communicator == nullptr ? "" : communicator->detail();
  if (text.empty()) text = hostccl::lastFailure();
  return text.c_str();
}

ncclResult_t ncclGroupStart(void) {
  Group::current().start();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  return answer([] { return Group::current().end(); });
}
