#include "record/interfaces.h"

namespace kymo::record {

void set_interface(uint32_t class_id, Interface which) noexcept {
  Process* shared = process();
  SegmentHeader* header = shared != nullptr ? shared->segment.load(std::memory_order_acquire) : nullptr;
  if (header == nullptr || class_id == 0 || class_id > kMaxClasses) return;
  std::atomic<uint8_t>& place = header->registry.interface[class_id];
  const auto value = static_cast<uint8_t>(static_cast<uint32_t>(which) + 1);
  if (place.load(std::memory_order_relaxed) != value) place.store(value, std::memory_order_relaxed);
}

void add_interface(Interface which, uint64_t events, uint64_t lost, uint64_t cost_ns) noexcept {
  Process* shared = process();
  SegmentHeader* header = shared != nullptr ? shared->segment.load(std::memory_order_acquire) : nullptr;
  if (header == nullptr) return;
  const auto index = static_cast<uint32_t>(which);
  if (events != 0) header->interface_events[index].fetch_add(events, std::memory_order_relaxed);
  if (lost != 0) header->interface_lost[index].fetch_add(lost, std::memory_order_relaxed);
  if (cost_ns != 0) header->interface_cost_ns[index].fetch_add(cost_ns, std::memory_order_relaxed);
}

void set_pending(Interface which, bool is_pending) noexcept {
  Process* shared = process();
  SegmentHeader* header = shared != nullptr ? shared->segment.load(std::memory_order_acquire) : nullptr;
  if (header != nullptr)
    header->interface_pending[static_cast<uint32_t>(which)].store(is_pending ? 1 : 0, std::memory_order_relaxed);
}

InterfaceCounts interface_counts(SegmentHeader& header, const Geometry& geometry, uint32_t interface) noexcept {
  InterfaceCounts counts{header.interface_events[interface].load(std::memory_order_relaxed),
                         header.interface_lost[interface].load(std::memory_order_relaxed),
                         header.interface_cost_ns[interface].load(std::memory_order_relaxed),
                         header.interface_pending[interface].load(std::memory_order_relaxed) != 0};
  const uint32_t slots = header.slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < slots && i < geometry.slot_capacity; ++i)
    if (has_memory(header, i))
      counts.events += slot_page(&header, geometry, i)->slot.delivered[interface].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace kymo::record
