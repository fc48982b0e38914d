#include "device/vulkan/shared_host.h"

#include <iterator>
#include <optional>

namespace kymo::device::vulkan {

Address SharedHost::share(void* memory, size_t bytes) {
  if (bytes == 0) return 0;
  const auto begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  const std::lock_guard lock(mutex_);
  auto after = shares_.upper_bound(begin);
  if (after != shares_.begin()) {
    Share& before = std::prev(after)->second;
    const uintptr_t before_end = before.host + (before.end - before.begin);
    if (end <= before_end) {
      ++before.count;
      return before.begin + (begin - before.host);
    }
    if (begin < before_end) return 0;
  }
  if (after != shares_.end() && after->first < end) return 0;

  if (const auto own = context_.device_memory().find_mapped(begin, end)) {
    const Address address = own->begin + (begin - reinterpret_cast<uintptr_t>(own->mapped));
    shares_.emplace(begin, Share{address, address + bytes, begin, 1, false});
    return address;
  }
  const Address address = import(begin, bytes);
  if (address != 0) shares_.emplace(begin, Share{address, address + bytes, begin, 1, true});
  return address;
}

// The pages around the memory become the buffer. Only the memory itself is in the table: its neighbours in the first
// and the last page may be shared by another buffer.
Address SharedHost::import(uintptr_t begin, size_t bytes) {
  const uintptr_t page = context_.physical().host_import_alignment;
  if (page == 0) return 0;
  const uintptr_t first = begin / page * page, last = (begin + bytes + page - 1) / page * page;
  const Buffer buffer = context_.import_host_buffer(reinterpret_cast<void*>(first), last - first);
  if (buffer.handle == VK_NULL_HANDLE) return 0;
  const uint64_t offset = begin - first;
  const Address address = buffer.address + offset;
  context_.device_memory().add(
      {address, address + bytes, buffer.handle, offset, buffer.memory, reinterpret_cast<std::byte*>(begin)});
  return address;
}

void SharedHost::unshare(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto share = shares_.begin(); share != shares_.end(); ++share) {
    if (address < share->second.begin || address >= share->second.end) continue;
    if (--share->second.count != 0) return;
    if (share->second.own_buffer) {
      if (const auto range = context_.device_memory().remove(share->second.begin))
        context_.destroy(
            {.handle = range->buffer, .memory = range->memory, .mapped = nullptr, .address = 0, .bytes = 0});
    }
    shares_.erase(share);
    return;
  }
}

}  // namespace kymo::device::vulkan
