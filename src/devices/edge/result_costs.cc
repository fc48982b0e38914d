#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyze/memory/timeline.h"
#include "edge/device_order.h"
#include "edge/flops.h"
#include "edge/result_builder.h"

namespace kymo::edge {

namespace {

// Sizes are untrusted: a sum that does not fit wraps around, which is defined for unsigned numbers.
int64_t wrapping_sum(int64_t one, int64_t other) {
  return static_cast<int64_t>(static_cast<uint64_t>(one) + static_cast<uint64_t>(other));
}

// The key of counted FLOPs: the name and the inputs of an event.
struct FlopKey {
  const char* name;
  uint32_t inputs;
  bool operator==(const FlopKey&) const = default;
};
struct FlopKeyHash {
  size_t operator()(const FlopKey& key) const {
    return (reinterpret_cast<uintptr_t>(key.name) ^ (uint64_t{key.inputs} << 32)) * 0x9e3779b97f4a7c15u >> 16;
  }
};

}  // namespace

void ResultBuilder::add_memory() {
  for (size_t which = 0; which < log_.threads.size(); ++which) {
    const ThreadLog& log = *log_.threads[which];
    data_->allocations.reserve(data_->allocations.size() + log.memory.size());
    for (uint32_t at = 0; at < log.memory.size(); ++at) {
      const RawMemory& raw = log.memory[at];
      const uint32_t event = threads_[which].of(raw.operation);
      data_->allocations.push_back({clock_.of_ticks(raw.ticks), raw.address, raw.bytes, raw.total_allocated,
                                    raw.total_reserved, raw.device, log.thread, event, raw.out_of_memory});
      if (event == EdgeEvent::kNone || raw.out_of_memory) continue;
      int64_t& self = data_->events[event].self_memory_bytes;
      self = wrapping_sum(self, raw.bytes);
    }
  }
  const auto earlier = [](const EdgeAllocation& one, const EdgeAllocation& other) {
    return one.time_ns < other.time_ns;
  };
  if (!std::ranges::is_sorted(data_->allocations, earlier)) std::ranges::stable_sort(data_->allocations, earlier);
  count_totals();
}

// If an allocator does not report its totals, they are counted from the begin of the profiler.
void ResultBuilder::count_totals() {
  struct Uncounted {
    std::vector<memory::Change> changes;
    std::vector<EdgeAllocation*> of;
    bool reports_totals = false;
  };
  std::map<DeviceId, Uncounted, DeviceOrder> devices;
  for (EdgeAllocation& allocation : data_->allocations) {
    Uncounted& device = devices[allocation.device];
    device.reports_totals = device.reports_totals || allocation.total_allocated != 0;
    device.changes.push_back({allocation.time_ns, allocation.address, allocation.out_of_memory ? 0 : allocation.bytes});
    device.of.push_back(&allocation);
  }
  for (auto& [id, device] : devices) {
    if (device.reports_totals) continue;
    const memory::Timeline timeline = memory::make_timeline(device.changes);
    for (size_t at = 0; at < device.of.size(); ++at) device.of[at]->total_allocated = timeline.in_use[at];
  }
}

void ResultBuilder::share_with_parents() {
  std::vector<EdgeEvent>& events = data_->events;
  for (size_t at = events.size(); at-- > 0;) {  // children come after their parents
    EdgeEvent& event = events[at];
    event.memory_bytes = wrapping_sum(event.memory_bytes, event.self_memory_bytes);
    if (event.parent == EdgeEvent::kNone) continue;
    EdgeEvent& parent = events[event.parent];
    parent.memory_bytes = wrapping_sum(parent.memory_bytes, event.memory_bytes);
    if (event.counts == EdgeEvent::kNone || parent.counts == EdgeEvent::kNone) continue;
    for (size_t which = 0; which < event_count_; ++which) {
      const EdgeCount& inside = data_->counts[event.counts + which];
      EdgeCount& around = data_->counts[parent.counts + which];
      around.exclusive = std::max(0.0, around.exclusive - inside.inclusive);
      around.scaled = around.scaled || inside.scaled || !inside.known;  // then the remainder is an estimate
    }
  }
}

void ResultBuilder::subtract_overhead() {
  if (event_count_ == 0) return;
  const CountOverhead& overhead = log_.options->overhead;
  std::vector<EdgeEvent>& events = data_->events;
  struct Counted {
    uint32_t children = 0, all = 0;  // operations inside that were counted: directly, at any depth
  };
  std::vector<Counted> inside(events.size());
  for (size_t at = events.size(); at-- > 0;) {  // children come after their parents
    const EdgeEvent& event = events[at];
    const bool is_counted = event.counts != EdgeEvent::kNone;
    if (event.parent != EdgeEvent::kNone) {
      inside[event.parent].children += is_counted;
      inside[event.parent].all += inside[at].all + is_counted;
    }
    if (!is_counted) continue;
    for (size_t which = 0; which < event_count_; ++which) {
      EdgeCount& count = data_->counts[event.counts + which];
      const double own = overhead.own[which], around = overhead.around[which];
      count.inclusive = std::max(0.0, count.inclusive - own - inside[at].all * (own + around));
      count.exclusive = std::max(0.0, count.exclusive - own - inside[at].children * around);
    }
  }
}

void ResultBuilder::add_flops() {
  std::unordered_map<FlopKey, std::pair<uint64_t, bool>, FlopKeyHash> known;
  std::vector<bool> counted(data_->first_device_event);  // this event or one of its ancestors
  for (uint32_t at = 0; at < data_->first_device_event; ++at) {
    EdgeEvent& event = data_->events[at];
    if (event.parent != EdgeEvent::kNone && counted[event.parent]) {
      counted[at] = true;
      continue;
    }
    if (event.inputs_size == 0) continue;
    const auto [found, is_new] = known.try_emplace(FlopKey{event.name.data(), event.inputs_at});
    if (is_new) {
      const auto count = count_flops(event.name, std::span(data_->inputs).subspan(event.inputs_at, event.inputs_size));
      found->second = {count.value_or(0), count.has_value()};
    }
    event.flops = found->second.first;
    counted[at] = found->second.second;
  }
  list_operators_without_flops(counted);
}

// If an operator calls others, these are counted or listed instead.
void ResultBuilder::list_operators_without_flops(const std::vector<bool>& counted) {
  const std::vector<EdgeEvent>& events = data_->events;
  const auto is_operator = [&](uint32_t at) { return events[at].kind == EdgeKind::Operator; };
  std::vector<bool> calls_others(counted.size());
  for (uint32_t at = 0; at < counted.size(); ++at)
    if (is_operator(at) && events[at].parent != EdgeEvent::kNone) calls_others[events[at].parent] = true;
  std::map<std::string_view, uint64_t> calls;
  for (uint32_t at = 0; at < counted.size(); ++at)
    if (is_operator(at) && !counted[at] && !calls_others[at]) ++calls[events[at].name];
  for (const auto& [name, count] : calls)
    if (!does_no_arithmetic(name)) data_->without_flops.push_back({name, count});
  std::ranges::stable_sort(data_->without_flops, std::ranges::greater{}, &EdgeUncounted::calls);
}

}  // namespace kymo::edge
