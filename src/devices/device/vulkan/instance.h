// The Vulkan instance: the loader's state, the physical devices, and the validation layer if it is on.
//
// KYMO_VULKAN_VALIDATION=1 turns on VK_LAYER_KHRONOS_validation. Its errors are kept in a list, and the next call on
// any queue of the driver throws them as DeviceError. Tests read the list to check that there were none. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/vulkan/api.h"

namespace kymo::device::vulkan {

class Validation {
 public:
  void report(std::string message);
  void check() {
    if (unthrown_.load(std::memory_order_relaxed)) [[unlikely]]
      throw_first();
  }

 private:
  void throw_first();

  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
  size_t thrown_ = 0;
  std::atomic<bool> unthrown_ = false;
};

class Instance {
 public:
  Instance();  // throws NotAvailable
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceApi& api() const { return api_; }
  uint32_t version() const { return version_; }                 // requested version: 1.2 or 1.3
  Validation* validation() const { return validation_.get(); }  // null: off
  std::vector<VkPhysicalDevice> physical_devices() const;

 private:
  LibraryApi library_;
  InstanceApi api_;
  uint32_t version_ = 0;
  std::unique_ptr<Validation> validation_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace kymo::device::vulkan
