// The progress of a queue: a timeline semaphore. Each submission raises it by one when it is done.
//
// Shared by the queue, the markers that were recorded in it and the submissions of other queues that wait for it.
// Thread-safe. A query costs one load if the answer was known before, otherwise a driver call.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/vulkan/context.h"

namespace kymo::device::vulkan {

class Timeline {
 public:
  explicit Timeline(Context& context);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  VkSemaphore semaphore() const { return semaphore_; }
  bool reached(uint64_t value) { return known_.load(std::memory_order_acquire) >= value || refresh() >= value; }
  void wait(uint64_t value);  // blocks; throws DeviceError

 private:
  uint64_t refresh();

  Context& context_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::atomic<uint64_t> known_ = 0;
};

}  // namespace kymo::device::vulkan
