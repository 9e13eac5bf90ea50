// Streams and events: a stream runs its tasks one after another on a thread
// of its own, an event notes the moment when a stream reaches it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "deadline.h"

namespace hostccl {

class Stream {
 public:
  // The thread owns the stream until close. Throws Failure when no thread can be had.
  static std::shared_ptr<Stream> create();
  // The stream behind a handle of the C API; the null handle is the default
  // stream of the process. Empty when there is no such stream.
  static std::shared_ptr<Stream> find(const void* handle);

  // task must not throw.
  void enqueue(std::function<void()> task);
  bool idle();
  void synchronize();
  // The thread ends when the queue is empty.
  void close();

 private:
  Stream() = default;
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool closed_ = false;
};

class Event {
 public:
  static void record(const std::shared_ptr<Event>& event, Stream& stream);
  // False while a recording is still ahead in its stream.
  bool reached();
  // Nothing until the event has been recorded and reached.
  std::optional<Clock::time_point> moment();
  bool recorded();

 private:
  std::mutex mutex_;
  uint64_t recordings_ = 0;
  uint64_t reached_ = 0;
  Clock::time_point moment_;
};

}  // namespace hostccl
