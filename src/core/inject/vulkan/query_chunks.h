// Timestamp queries for the command buffers of the program.
//
// A command buffer does not say how many commands it will have, so queries come in chunks. The chunks of one that is
// recorded again, or freed, are used for others. Thread-safe.
#pragma once

#include <mutex>
#include <vector>

#include "inject/vulkan/api.h"

namespace kymo::inject::vulkan {

class QueryChunks {
 public:
  static constexpr uint32_t kQueries = 128;  // of a chunk

  void open(VkDevice device, const DeviceFunctions& next) noexcept {
    device_ = device;
    next_ = &next;
  }
  // The device is destroyed.
  void close() noexcept;
  // The device is destroyed while it may still use some: they are left to the driver.
  void abandon() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all_.clear();
    free_.clear();
  }

  // VK_NULL_HANDLE: the driver has no more.
  VkQueryPool take() noexcept;
  void give_back(const std::vector<VkQueryPool>& chunks) noexcept;

 private:
  static constexpr size_t kMax = 4096;  // half a million commands

  VkDevice device_ = VK_NULL_HANDLE;
  const DeviceFunctions* next_ = nullptr;
  std::mutex mutex_;
  std::vector<VkQueryPool> free_, all_;
  bool closed_ = false;
};

}  // namespace kymo::inject::vulkan
