#include <map>

#include "analyze/memory/timeline.h"
#include "edge/device_order.h"
#include "edge/inputs.h"
#include "edge/result_data.h"
#include "kymo/edge_result.h"

namespace kymo {

std::span<const EdgeEvent> EdgeResult::events() const {
  return data_ ? std::span<const EdgeEvent>(data_->events) : std::span<const EdgeEvent>{};
}

std::vector<EdgeInput> EdgeResult::inputs(const EdgeEvent& event) const {
  return data_ ? edge::decode_inputs(data_->inputs_of(event)) : std::vector<EdgeInput>{};
}

std::vector<EdgeFrame> EdgeResult::stack(const EdgeEvent& event) const {
  return data_ && event.stack < data_->stacks.size() ? data_->stacks[event.stack] : std::vector<EdgeFrame>{};
}

std::span<const EdgeCount> EdgeResult::counts(const EdgeEvent& event) const {
  return data_ ? data_->counts_of(event) : std::span<const EdgeCount>{};
}

std::span<const std::string> EdgeResult::event_names() const {
  return data_ ? std::span<const std::string>(data_->event_names) : std::span<const std::string>{};
}

std::span<const EdgeAllocation> EdgeResult::allocations() const {
  return data_ ? std::span<const EdgeAllocation>(data_->allocations) : std::span<const EdgeAllocation>{};
}

std::vector<EdgeMemory> EdgeResult::memory() const {
  struct OfDevice {
    std::vector<memory::Change> changes;
    std::vector<uint32_t> of;  // the allocation of each change
  };
  std::map<edge::DeviceId, OfDevice, edge::DeviceOrder> devices;
  const std::span<const EdgeAllocation> all = allocations();
  for (uint32_t at = 0; at < all.size(); ++at) {
    if (all[at].out_of_memory) continue;
    OfDevice& device = devices[all[at].device];
    device.changes.push_back({all[at].time_ns, all[at].address, all[at].bytes});
    device.of.push_back(at);
  }
  std::vector<EdgeMemory> result;
  for (const auto& [id, device] : devices) {
    const memory::Timeline timeline = memory::make_timeline(device.changes);
    EdgeMemory& made = result.emplace_back();
    made.device = id;
    made.timeline.reserve(device.changes.size());
    for (size_t at = 0; at < device.changes.size(); ++at)
      made.timeline.push_back({device.changes[at].time_ns, timeline.in_use[at]});
    made.peak_bytes = timeline.peak_bytes;
    made.peak_time_ns = device.changes[timeline.peak_at].time_ns;
    for (const size_t at : timeline.alive_at_peak) made.alive_at_peak.push_back(device.of[at]);
    for (const size_t at : timeline.never_freed) made.never_freed.push_back(device.of[at]);
    made.unknown_frees = timeline.unknown_frees;
  }
  return result;
}

uint64_t EdgeResult::start_ns() const { return data_ ? data_->start_ns : 0; }
uint64_t EdgeResult::end_ns() const { return data_ ? data_->end_ns : 0; }

std::span<const EdgeUncounted> EdgeResult::without_flops() const {
  return data_ ? std::span<const EdgeUncounted>(data_->without_flops) : std::span<const EdgeUncounted>{};
}

std::vector<std::string> EdgeResult::losses() const { return data_ ? data_->losses : std::vector<std::string>{}; }

}  // namespace kymo
