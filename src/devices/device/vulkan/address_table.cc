#include "device/vulkan/address_table.h"

#include <mutex>
#include <utility>

namespace kymo::device::vulkan {

void AddressTable::add(const AddressRange& range) {
  const std::unique_lock lock(mutex_);
  ranges_[range.begin] = range;
  count_ = ranges_.size();
}

std::optional<AddressRange> AddressTable::remove(uint64_t begin) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(begin);
  if (found == ranges_.end()) return std::nullopt;
  const AddressRange range = found->second;
  ranges_.erase(found);
  count_ = ranges_.size();
  removals_.fetch_add(1, std::memory_order_release);
  return range;
}

std::optional<AddressRange> AddressTable::find(uint64_t address) const {
  if (empty()) return std::nullopt;
  const std::shared_lock lock(mutex_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  --after;
  return after->second.holds(address) ? std::optional(after->second) : std::nullopt;
}

std::optional<AddressRange> AddressTable::find_mapped(uintptr_t begin, uintptr_t end) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [address, range] : ranges_) {
    const auto mapped = reinterpret_cast<uintptr_t>(range.mapped);
    if (mapped != 0 && begin >= mapped && end <= mapped + (range.end - range.begin)) return range;
  }
  return std::nullopt;
}

std::map<uint64_t, AddressRange> AddressTable::take_all() {
  const std::unique_lock lock(mutex_);
  count_ = 0;
  removals_.fetch_add(1, std::memory_order_release);
  return std::exchange(ranges_, {});
}

const AddressRange* AddressCache::look_up(uint64_t address) {
  if (const uint64_t removals = table_.removals(); removals != removals_) {
    recent_.fill({});
    removals_ = removals;
  }
  const auto found = table_.find(address);
  if (!found) return nullptr;
  AddressRange& entry = recent_[oldest_++ % recent_.size()];
  entry = *found;
  return &entry;
}

}  // namespace kymo::device::vulkan
