// An opened device: the state that its queues, markers, programs and memory share.
//
// Thread-safe. All objects that were created with a context must be destroyed before it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "device/vulkan/address_table.h"
#include "device/vulkan/physical_device.h"
#include "device/vulkan/result.h"

namespace kymo::device::vulkan {

// A queue of the driver. If there are more streams than driver queues, streams share them; submitting needs the lock.
struct SharedQueue {
  VkQueue handle = VK_NULL_HANDLE;
  std::mutex mutex;
};

// A buffer with memory of its own.
struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;  // of host memory, and of device memory that the host can write
  uint64_t address = 0;         // of device memory
  size_t bytes = 0;
};

class Context {
 public:
  Context(std::shared_ptr<Instance> instance, const PhysicalDevice& physical);  // throws DeviceError
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceApi& api() const { return api_; }
  VkDevice device() const { return device_; }
  const PhysicalDevice& physical() const { return physical_; }
  const Instance& instance() const { return *instance_; }

  // Checks the result of a call. Remembers that the device is lost, which is permanent.
  void check(VkResult result, const char* call) {
    if (result < 0) [[unlikely]]
      fail(result, call);
  }
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // Call it at the start of every queue operation: throws the errors that the validation layer found.
  void check_validation() const {
    if (Validation* validation = instance_->validation()) [[unlikely]]
      validation->check();
  }

  SharedQueue& next_queue();  // in turn

  // Memory. These functions return an empty buffer (a null handle) if the driver has no more.
  Buffer make_device_buffer(size_t bytes);
  Buffer make_host_buffer(size_t bytes);
  // Memory that the host writes and kernels read by its address; of the device, if it has such memory.
  Buffer make_argument_buffer(size_t bytes);
  // A buffer over host memory, which begins and ends at a multiple of host_import_alignment. Empty: the driver refuses.
  Buffer import_host_buffer(void* memory, size_t bytes);
  void destroy(const Buffer& buffer) noexcept;
  AddressTable& device_memory() { return device_memory_; }
  AddressTable& host_memory() { return host_memory_; }

 private:
  Buffer make_buffer(size_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags needed);
  uint64_t address_of(VkBuffer buffer) const;
  void map_if_shared(Buffer& buffer, uint32_t memory_type);
  bool map(Buffer& buffer);
  [[noreturn]] void fail(VkResult result, const char* call);

  const std::shared_ptr<Instance> instance_;
  PhysicalDevice physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceApi api_;
  std::deque<SharedQueue> queues_;
  std::atomic<uint32_t> next_queue_ = 0;
  std::atomic<bool> lost_ = false;
  AddressTable device_memory_, host_memory_;
};

}  // namespace kymo::device::vulkan
