#include "stream.h"

#include <utility>

#include "handles.h"
#include "threads.h"

namespace hostccl {

std::shared_ptr<Stream> Stream::create() {
  std::shared_ptr<Stream> stream(new Stream);
  startThread("hostccl-stream", [stream] { stream->run(); });
  return stream;
}

std::shared_ptr<Stream> Stream::find(const void* handle) {
  if (handle != nullptr) return Handles<Stream>::process().find(handle);
  static auto* shared = new std::shared_ptr<Stream>(create());
  return *shared;
}

void Stream::enqueue(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

bool Stream::idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.empty() && !busy_;
}

void Stream::synchronize() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void Stream::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !tasks_.empty() || closed_; });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    task = nullptr;  // what it owned may need this thread's stream
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Event::record(const std::shared_ptr<Event>& event, Stream& stream) {
  uint64_t recording = 0;
  {
    const std::lock_guard<std::mutex> lock(event->mutex_);
    recording = ++event->recordings_;
  }
  stream.enqueue([event, recording] {
    const auto now = Clock::now();
    const std::lock_guard<std::mutex> lock(event->mutex_);
    if (recording <= event->reached_) return;
    event->reached_ = recording;
    event->moment_ = now;
  });
}

bool Event::reached() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reached_ == recordings_;
}

bool Event::recorded() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return recordings_ > 0;
}

std::optional<Clock::time_point> Event::moment() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (recordings_ == 0 || reached_ != recordings_) return std::nullopt;
  return moment_;
}

}  // namespace hostccl
