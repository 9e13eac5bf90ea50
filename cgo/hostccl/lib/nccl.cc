// The C API of nccl_api.h: arguments in, result codes out.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "communicator.h"
#include "failure.h"
#include "handles.h"
#include "nccl_api.h"
#include "root.h"
#include "stream.h"

using hostccl::Communicator;
using hostccl::Failure;
using hostccl::Handles;
using hostccl::Stream;

namespace {

// What this library implements is NCCL 2.14's API.
constexpr int kVersion = 21400;

// The last failure of the process, as in NCCL. Never destroyed.
class LastError {
 public:
  static LastError& process() {
    static auto* error = new LastError;
    return *error;
  }
  void set(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ = text;
  }
  std::string get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

ncclResult_t failed(ncclResult_t code, const std::string& text) {
  LastError::process().set(text);
  return code;
}

// Exceptions end here.
template <class Body>
ncclResult_t answer(const Body& body) noexcept {
  try {
    return body();
  } catch (const Failure& failure) {
    return failed(failure.code, failure.what());
  } catch (const std::exception& error) {
    return failed(ncclInternalError, error.what());
  }
}

std::shared_ptr<Communicator> find(const void* handle) {
  auto communicator = Handles<Communicator>::process().find(handle);
  if (communicator == nullptr) throw Failure(ncclInvalidArgument, "no such communicator");
  return communicator;
}

void require(bool condition, const char* text) {
  if (!condition) throw Failure(ncclInvalidArgument, text);
}

// A blocking init is awaited when it returns, or, in a group, when the group ends.
struct Pending {
  std::shared_ptr<Communicator> communicator;
  ncclComm_t* handle;
};
thread_local int groupDepth = 0;
thread_local std::vector<Pending> groupPending;

ncclResult_t await(const Pending& pending) {
  const ncclResult_t result = pending.communicator->waitInitialised();
  if (result == ncclSuccess) return result;
  const std::string detail = pending.communicator->detail();
  Handles<Communicator>::process().remove(*pending.handle);
  *pending.handle = nullptr;
  pending.communicator->close(true);
  return failed(result, detail);
}

ncclResult_t init(ncclComm_t* comm, const ncclUniqueId& id, const Communicator::Place& place) {
  require(comm != nullptr, "the communicator's address is null");
  *comm = nullptr;
  const auto communicator = Communicator::start(id, place);
  *comm = static_cast<ncclComm_t>(Handles<Communicator>::process().add(communicator));
  if (!place.blocking) return ncclInProgress;
  if (groupDepth > 0) {
    groupPending.push_back({communicator, comm});
    return ncclSuccess;
  }
  return await({communicator, comm});
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
    const auto communicator = find(comm);
    communicator->finalize();
    if (communicator->blocking()) communicator->finish();
    return communicator->status();
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return answer([&] {
    find(comm)->finish();
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
    *result = find(comm)->status();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer([&] {
    require(count != nullptr, "the count's address is null");
    *count = find(comm)->ranks();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer([&] {
    require(rank != nullptr, "the rank's address is null");
    *rank = find(comm)->rank();
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
  if (text.empty()) text = LastError::process().get();
  return text.c_str();
}

ncclResult_t ncclGroupStart(void) {
  groupDepth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (groupDepth == 0) return failed(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--groupDepth > 0) return ncclSuccess;
  const auto pending = std::move(groupPending);
  groupPending.clear();
  ncclResult_t first = ncclSuccess;
  for (const auto& one : pending) {
    const ncclResult_t result = answer([&] { return await(one); });
    if (first == ncclSuccess) first = result;
  }
  return first;
}

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, void* stream) {
  return answer([&] {
    const auto communicator = find(comm);
    const auto queue = Stream::find(stream);
    require(queue != nullptr, "no such stream");
    require(op == ncclSum, "only sums are implemented");
    require(type == ncclFloat32 || type == ncclInt32 || type == ncclFloat64,
            "only float32, float64 and int32 are implemented");
    if (count == 0) return ncclSuccess;
    require(send != nullptr && recv != nullptr, "a buffer's address is null");
    communicator->allReduce(*queue, {send, recv, count, type, 0});
    return ncclSuccess;
  });
}
