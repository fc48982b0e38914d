// Finds the buffer of an address: Vulkan copies between buffers, the runtime between addresses.
//
// All threads share one table. A queue uses it through its own AddressCache. The cache answers repeated questions for
// the same few buffers without a lock, in a few nanoseconds. It notices if an entry was removed since.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "device/vulkan/api.h"

namespace kymo::device::vulkan {

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
  uint64_t removals() const { return removals_.load(std::memory_order_acquire); }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, AddressRange> ranges_;  // by begin
  std::atomic<size_t> count_ = 0;
  std::atomic<uint64_t> removals_ = 0;
};

// Used by one thread at a time.
class AddressCache {
 public:
  explicit AddressCache(const AddressTable& table) : table_(table) {}

  // Null: no buffer contains it. Valid until the next call.
  const AddressRange* find(uint64_t address) {
    if (removals_ == table_.removals())
      for (const AddressRange& range : recent_)
        if (range.holds(address)) return &range;
    return look_up(address);
  }

 private:
  const AddressRange* look_up(uint64_t address);

  const AddressTable& table_;
  std::array<AddressRange, 4> recent_{};
  uint32_t oldest_ = 0;
  uint64_t removals_ = 0;
};

}  // namespace kymo::device::vulkan
