// The C API of hostccl.h.
#include "hostccl.h"

#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <new>

#include "failure.h"
#include "handles.h"
#include "stream.h"

using hostccl::Event;
using hostccl::Handles;
using hostccl::Stream;

namespace {

constexpr size_t kAlignment = 4096;

// Exceptions end here.
template <class Body>
hostcclResult_t answer(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return hostcclOutOfMemory;
  } catch (const std::exception&) {
    return hostcclSystemError;
  }
}

hostcclResult_t enqueue(hostcclStream_t handle, std::function<void()> task) {
  const auto stream = Stream::find(handle);
  if (stream == nullptr) return hostcclInvalidValue;
  stream->enqueue(std::move(task));
  return hostcclSuccess;
}

}  // namespace

const char* hostcclVersion(void) { return "0.1"; }

const char* hostcclGetErrorString(hostcclResult_t result) {
  switch (result) {
    case hostcclSuccess:
      return "no error";
    case hostcclNotReady:
      return "not ready";
    case hostcclInvalidValue:
      return "invalid value";
    case hostcclOutOfMemory:
      return "out of memory";
    case hostcclSystemError:
      return "system error";
  }
  return "unknown error";
}

hostcclResult_t hostcclMemAlloc(void** memory, size_t bytes) {
  if (memory == nullptr || bytes == 0) return hostcclInvalidValue;
  return posix_memalign(memory, kAlignment, bytes) == 0 ? hostcclSuccess : hostcclOutOfMemory;
}

hostcclResult_t hostcclMemFree(void* memory) {
  free(memory);
  return hostcclSuccess;
}

hostcclResult_t hostcclMemcpyAsync(void* to, const void* from, size_t bytes,
                                   hostcclStream_t stream) {
  if (bytes > 0 && (to == nullptr || from == nullptr)) return hostcclInvalidValue;
  return answer([&] { return enqueue(stream, [=] { memmove(to, from, bytes); }); });
}

hostcclResult_t hostcclMemsetD32Async(void* to, uint32_t value, size_t count,
                                      hostcclStream_t stream) {
  if (count > 0 && to == nullptr) return hostcclInvalidValue;
  return answer([&] {
    return enqueue(stream, [=] { std::fill_n(static_cast<uint32_t*>(to), count, value); });
  });
}

hostcclResult_t hostcclStreamCreate(hostcclStream_t* stream) {
  if (stream == nullptr) return hostcclInvalidValue;
  return answer([&] {
    *stream = static_cast<hostcclStream_t>(Handles<Stream>::process().add(Stream::create()));
    return hostcclSuccess;
  });
}

hostcclResult_t hostcclStreamDestroy(hostcclStream_t stream) {
  const auto removed = Handles<Stream>::process().remove(stream);
  if (removed == nullptr) return hostcclInvalidValue;
  removed->close();
  return hostcclSuccess;
}

hostcclResult_t hostcclStreamQuery(hostcclStream_t handle) {
  return answer([&] {
    const auto stream = Stream::find(handle);
    if (stream == nullptr) return hostcclInvalidValue;
    return stream->idle() ? hostcclSuccess : hostcclNotReady;
  });
}

hostcclResult_t hostcclStreamSynchronize(hostcclStream_t handle) {
  return answer([&] {
    const auto stream = Stream::find(handle);
    if (stream == nullptr) return hostcclInvalidValue;
    stream->synchronize();
    return hostcclSuccess;
  });
}

hostcclResult_t hostcclEventCreate(hostcclEvent_t* event) {
  if (event == nullptr) return hostcclInvalidValue;
  return answer([&] {
    *event =
        static_cast<hostcclEvent_t>(Handles<Event>::process().add(std::make_shared<Event>()));
    return hostcclSuccess;
  });
}

hostcclResult_t hostcclEventDestroy(hostcclEvent_t event) {
  return Handles<Event>::process().remove(event) == nullptr ? hostcclInvalidValue : hostcclSuccess;
}

hostcclResult_t hostcclEventRecord(hostcclEvent_t eventHandle, hostcclStream_t streamHandle) {
  return answer([&] {
    const auto event = Handles<Event>::process().find(eventHandle);
    const auto stream = Stream::find(streamHandle);
    if (event == nullptr || stream == nullptr) return hostcclInvalidValue;
    Event::record(event, *stream);
    return hostcclSuccess;
  });
}

hostcclResult_t hostcclEventQuery(hostcclEvent_t handle) {
  const auto event = Handles<Event>::process().find(handle);
  if (event == nullptr) return hostcclInvalidValue;
  return event->reached() ? hostcclSuccess : hostcclNotReady;
}

hostcclResult_t hostcclEventElapsedTime(int64_t* nanoseconds, hostcclEvent_t fromHandle,
                                        hostcclEvent_t toHandle) {
  const auto from = Handles<Event>::process().find(fromHandle);
  const auto to = Handles<Event>::process().find(toHandle);
  if (nanoseconds == nullptr || from == nullptr || to == nullptr) return hostcclInvalidValue;
  if (!from->recorded() || !to->recorded()) return hostcclInvalidValue;
  const auto start = from->moment();
  const auto end = to->moment();
  if (!start || !end) return hostcclNotReady;
  *nanoseconds = std::chrono::nanoseconds(*end - *start).count();
  return hostcclSuccess;
}
