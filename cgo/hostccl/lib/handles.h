// Handles of the C API. They are looked up, not followed, so that a stale or
// foreign one is an error and not a crash, and any thread may close one.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

namespace hostccl {

template <class Object>
class Handles {
 public:
  // The handle is the object's address; Object lives at least as long.
  void* add(std::shared_ptr<Object> object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    void* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  // Empty when there is no such handle.
  std::shared_ptr<Object> find(const void* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Object> remove(const void* handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  // The table of this process. Never destroyed: threads may outlive the static destructors.
  static Handles& process() {
    static auto* handles = new Handles;
    return *handles;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
};

}  // namespace hostccl
