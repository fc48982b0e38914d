// An opened device: the state that its queues, markers, programs and memory share.
//
// Thread-safe. All objects that were created with a context must be destroyed before it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "device/memory_source.h"
#include "device/vulkan/api.h"
#include "device/vulkan/physical_device.h"

namespace kymo::device::vulkan {

// Finds the buffer of an address: Vulkan copies between buffers, the runtime between addresses. Thread-safe.
struct AddressRange {
  uint64_t begin = 0, end = 0;  // the addresses that the runtime uses
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;  // of `begin` in the buffer
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;  // the host's address of `begin`; null: the host cannot access it

  bool holds(uint64_t address) const { return address >= begin && address < end; }
  uint64_t offset_of(uint64_t address) const { return address - begin + offset; }
};

class AddressTable {
 public:
  void add(const AddressRange& range);
  std::optional<AddressRange> remove(uint64_t begin);  // empty: not found
  std::optional<AddressRange> find(uint64_t address) const;
  // The range whose mapping contains all of this host memory. Slow: it looks at every range.
  std::optional<AddressRange> find_mapped(uintptr_t begin, uintptr_t end) const;
  std::map<uint64_t, AddressRange> take_all();

  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, AddressRange> ranges_;  // by begin
  std::atomic<size_t> count_ = 0;
};

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

  SharedQueue& next_queue();  // in turn

  // Memory. These functions return an empty buffer (a null handle) if the driver has no more.
  Buffer make_device_buffer(size_t bytes);
  Buffer make_host_buffer(size_t bytes);
  // Memory that the host writes and kernels read by its address; of the device, if it has such memory.
  Buffer make_argument_buffer(size_t bytes);
  // A buffer over host memory, which begins and ends at a multiple of host_import_alignment. Empty: the driver refuses.
  Buffer import_host_buffer(void* memory, size_t bytes);
  void destroy(const Buffer& buffer) noexcept { destroy(buffer.handle, buffer.memory); }
  void destroy(const AddressRange& range) noexcept { destroy(range.buffer, range.memory); }
  AddressTable& device_memory() { return device_memory_; }
  AddressTable& host_memory() { return host_memory_; }

 private:
  // Memory of a type that has all of `wanted`, else all of `needed`. `host`: host memory that the buffer is over, which
  // only types in `host_types` can be; null: the buffer gets memory of its own.
  Buffer make_buffer(size_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags needed,
                     void* host = nullptr, uint32_t host_types = 0);
  void map_if_shared(Buffer& buffer, uint32_t memory_type);
  bool map(Buffer& buffer);
  void destroy(VkBuffer buffer, VkDeviceMemory memory) noexcept;
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

// Host memory that the device uses without a copy: whole pages of the host become a buffer
// (VK_EXT_external_memory_host).
//
// Thread-safe. The same memory, or a part of it, may be shared several times; each share ends on its own. Memory of the
// device itself, which host code sees through its mapping, is found too: it needs no buffer of its own.
class SharedHost {
 public:
  explicit SharedHost(Context& context) : context_(context) {}

  // 0: the driver refuses, or a part of the memory is shared already and the rest is not.
  Address share(void* memory, size_t bytes);
  void unshare(Address address) noexcept;

 private:
  struct Share {
    Address begin = 0, end = 0;  // of the device
    uintptr_t host = 0;          // the host's address of `begin`
    size_t count = 0;
    bool own_buffer = false;
  };

  Address import(uintptr_t begin, size_t bytes);

  Context& context_;
  std::mutex mutex_;
  std::map<uintptr_t, Share> shares_;  // by `host`; they do not overlap
};

}  // namespace kymo::device::vulkan
