#include "edge/build.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/memory/profile.h"
#include "base/hash.h"
#include "base/text.h"
#include "edge/adjust.h"
#include "edge/flops.h"
#include "edge/unix_clock.h"
#include "symbols/symbols.h"

namespace kymo::edge {
namespace {

// For unordered maps by contents. What the spans refer to must outlive the map.
template <class T>
struct SameSpan {
  bool operator()(std::span<const T> one, std::span<const T> other) const {
    return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size_bytes()) == 0);
  }
};
template <class T>
struct SpanHash {
  size_t operator()(std::span<const T> span) const { return base::hash(std::as_bytes(span)); }
};
template <class T>
using SpanMap = std::unordered_map<std::span<const T>, uint32_t, SpanHash<T>, SameSpan<T>>;

// ---- Positions by time ---------------------------------------------------------------------------------------------

struct TimeSpan {
  uint64_t start_ns = 0, end_ns = 0;
};

// Finds the operation of a thread that was open at a time. `operations` are in the order in which they began, `parents`
// are their parents. Both must outlive this object.
class OpenOperations {
 public:
  OpenOperations(std::span<const TimeSpan> operations, std::span<const uint32_t> parents)
      : operations_(operations), parents_(parents), begins_(operations.size()) {
    uint64_t latest = 0;
    for (size_t at = 0; at < operations.size(); ++at) begins_[at] = latest = std::max(latest, operations[at].start_ns);
  }

  // The number of operations that began at or before this time.
  uint32_t started_by(uint64_t ns) const {
    return static_cast<uint32_t>(std::upper_bound(begins_.begin(), begins_.end(), ns) - begins_.begin());
  }
  uint64_t begin_of(uint32_t operation) const { return begins_[operation]; }

  // The innermost operation that fits, among those that may be open at that time: the last one that began, and its
  // ancestors. kNothing: none.
  template <class IsGood>
  uint32_t find_up(uint64_t ns, IsGood is_good) const {
    uint32_t at = started_by(ns);
    if (at == 0) return kNothing;
    for (--at; at != kNothing; at = parents_[at])
      if (is_good(operations_[at])) return at;
    return kNothing;
  }
  uint32_t at(uint64_t ns) const {
    return find_up(ns, [&](const TimeSpan& each) { return each.start_ns <= ns && ns <= each.end_ns; });
  }

 private:
  std::span<const TimeSpan> operations_;
  std::span<const uint32_t> parents_;
  std::vector<uint64_t> begins_;  // never decreases, even if the input does
};

// A backend event, with only the members that its position needs.
struct BackendSpan {
  uint64_t start_ns = 0, end_ns = 0, reported_ns = 0;
  uint32_t backend = 0;  // a number for its name
};

struct BackendPlace {
  uint32_t event = 0;              // an index into the backend's events
  uint32_t operation = kNothing;   // its parent, or
  uint32_t inside = kNothing;      // an index into the places, of an earlier one
  uint32_t operations_before = 0;  // how many operations of the thread come before it
};

constexpr uint64_t kMicrosecond = 1000;
constexpr size_t kMaxTried = 64;  // max number of overlapping events that are tried, so that the search ends

uint32_t operation_of(const BackendSpan& event, const OpenOperations& open) {
  const uint32_t around = open.find_up(event.start_ns + kMicrosecond, [&](const TimeSpan& operation) {
    return operation.start_ns <= event.start_ns + kMicrosecond && event.end_ns <= operation.end_ns + kMicrosecond;
  });
  if (around != kNothing) return around;
  return open.find_up(event.reported_ns, [&](const TimeSpan& operation) {
    return operation.end_ns >= event.reported_ns && operation.start_ns < event.end_ns &&
           event.start_ns < operation.end_ns;
  });
}

// `operations` are in the order in which they began, `parents` are their parents. Returns a position for each backend
// event, in their order among the thread's events: parents first.
std::vector<BackendPlace> place_backend_events(std::span<const TimeSpan> operations, std::span<const uint32_t> parents,
                                               std::span<const BackendSpan> events) {
  const OpenOperations by_time(operations, parents);
  std::vector<uint32_t> order(events.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t one, uint32_t other) {
    const BackendSpan &a = events[one], &b = events[other];
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });

  struct Placed {
    BackendPlace place;
    uint32_t within = kNothing;  // the operation that contains it, also if it is inside another backend event
    uint64_t from = 0;           // not before the begin of its parent
  };
  std::vector<Placed> placed;
  placed.reserve(events.size());
  std::vector<uint32_t> open;  // events that may contain the next ones
  for (const uint32_t which : order) {
    const BackendSpan& event = events[which];
    const auto at = static_cast<uint32_t>(placed.size());
    Placed& made = placed.emplace_back();
    made.place.event = which;
    made.within = made.place.operation = operation_of(event, by_time);
    made.from = made.within == kNothing ? event.start_ns : std::max(event.start_ns, by_time.begin_of(made.within));

    while (!open.empty() && events[placed[open.back()].place.event].end_ns <= event.start_ns) open.pop_back();
    for (size_t tried = 0; tried < std::min(open.size(), kMaxTried); ++tried) {
      const uint32_t candidate = open[open.size() - 1 - tried];
      const BackendSpan& around = events[placed[candidate].place.event];
      const bool longer = around.end_ns - around.start_ns > event.end_ns - event.start_ns;
      if (!longer || event.start_ns >= around.end_ns || event.end_ns > around.end_ns) continue;
      if (around.backend != event.backend || placed[candidate].within != made.within) continue;
      made.place.inside = candidate;
      made.place.operation = kNothing;
      made.from = std::max(made.from, placed[candidate].from);
      break;
    }
    open.push_back(at);
  }

  // In their final order: only events that claim to begin before their parents are moved.
  std::vector<uint32_t> final_order(placed.size()), now_at(placed.size());
  std::iota(final_order.begin(), final_order.end(), 0);
  std::stable_sort(final_order.begin(), final_order.end(),
                   [&](uint32_t one, uint32_t other) { return placed[one].from < placed[other].from; });
  std::vector<BackendPlace> places;
  places.reserve(placed.size());
  for (const uint32_t from : final_order) {
    now_at[from] = static_cast<uint32_t>(places.size());
    BackendPlace place = placed[from].place;
    if (place.inside != kNothing) place.inside = now_at[place.inside];
    place.operations_before = by_time.started_by(placed[from].from);
    places.push_back(place);
  }
  return places;
}

// ---- The builder ---------------------------------------------------------------------------------------------------

// The steps, in order. Each adds its part to the result.
class ResultBuilder {
 public:
  ResultBuilder(const LogContents& log, const Module& module, const BuildOptions& options);
  std::shared_ptr<const ResultData> build();

 private:
  // Maps the numbers of one thread to events.
  struct ThreadEvents {
    std::vector<std::string_view> names;
    uint32_t first = 0;  // the event of its first operation, if `events` is empty
    uint32_t operations = 0;
    std::vector<uint32_t> events;  // of each operation, if there are backend events among them
    uint32_t of(uint32_t operation) const {
      if (operation >= operations) return EdgeEvent::kNone;
      return events.empty() ? first + operation : events[operation];
    }
    std::string_view name(uint32_t number) const { return number < names.size() ? names[number] : std::string_view{}; }
  };

  struct ThreadTimes {
    std::vector<TimeSpan> operations;
    std::vector<uint32_t> parents;
  };

  ThreadTimes times_of(const ThreadLog& log) const;
  std::vector<uint32_t> causes_of(const ThreadLog& log) const;  // operations: one for each device operation
  void add_thread(const ThreadLog& log);
  void add_operation(const ThreadLog& log, const RawOperation& raw, uint32_t parent, const ThreadEvents& thread);
  void add_with_backend_events(const ThreadLog& log, ThreadEvents& thread);
  void add_device_events();
  void add_memory();
  void count_totals();
  void share_with_parents();  // memory and counts
  void subtract_overhead();
  void add_flops();
  void ask_module();
  void name_stacks();

  void report_losses();
  void list_operators_without_flops(const std::vector<bool>& counted);

  const LogContents& log_;
  const Module& module_;
  const BuildOptions& options_;
  const UnixClock clock_;
  const size_t event_count_;  // performance events
  std::shared_ptr<ResultData> data_ = std::make_shared<ResultData>();
  SpanMap<std::byte> inputs_;  // equal inputs are stored once: where they are in the result
  std::vector<ThreadEvents> threads_;

  uint64_t reversed_operations_ = 0, reversed_backend_events_ = 0, early_backend_events_ = 0;
  uint64_t reversed_device_operations_ = 0, inputs_without_room_ = 0, counts_without_room_ = 0;
};

ResultBuilder::ResultBuilder(const LogContents& log, const Module& module, const BuildOptions& options)
    : log_(log),
      module_(module),
      options_(options),
      clock_(log),
      event_count_(std::min(log.options == nullptr ? 0 : log.options->events.size(), counters::kMaxEvents)) {}

// ---- Times of operations, and which one queued a device operation --------------------------------------------------

ResultBuilder::ThreadTimes ResultBuilder::times_of(const ThreadLog& log) const {
  const uint32_t count = log.operations.size();
  ThreadTimes times;
  times.operations.resize(count);
  times.parents.resize(count);
  for (uint32_t at = 0; at < count; ++at) {
    const RawOperation& raw = log.operations[at];
    const uint64_t end_ticks = raw.end_ticks.load(std::memory_order_acquire);
    times.operations[at] = {clock_.of_ticks(raw.begin_ticks),
                            end_ticks == 0 ? data_->end_ns : clock_.of_ticks(end_ticks)};
    times.parents[at] = raw.parent < at ? raw.parent : kNothing;
  }
  return times;
}

// An engine often learns of a device operation only when it has run, inside of another operation. Then the time at
// which it was queued decides. The operation in which it was reported is right if it began less than a microsecond
// later: the two clocks agree only that well.
std::vector<uint32_t> ResultBuilder::causes_of(const ThreadLog& log) const {
  constexpr uint64_t kTolerance = 1000;
  std::vector<uint32_t> causes(log.device_operations.size());
  bool has_times = false;
  for (uint32_t at = 0; at < causes.size(); ++at) {
    causes[at] = log.device_operations[at].operation;
    has_times = has_times || log.device_operations[at].cause_by_time;
  }
  if (!has_times) return causes;
  const ThreadTimes times = times_of(log);
  const OpenOperations open(times.operations, times.parents);
  for (uint32_t at = 0; at < causes.size(); ++at) {
    const RawDeviceOperation& raw = log.device_operations[at];
    if (!raw.cause_by_time) continue;
    const uint64_t queued = clock_.of_monotonic(raw.queued_ns);
    if (raw.operation < times.operations.size()) {
      const uint64_t begin = times.operations[raw.operation].start_ns;
      if (queued < begin && begin - queued <= kTolerance) continue;
    }
    causes[at] = open.at(queued);
  }
  return causes;
}

// ---- Events --------------------------------------------------------------------------------------------------------

EdgeKind kind_of(Scope scope) {
  static_assert(static_cast<int>(Scope::Function) == static_cast<int>(EdgeKind::Function), "both have the same order");
  return scope <= Scope::Function ? static_cast<EdgeKind>(scope) : EdgeKind::Operator;
}

uint64_t microseconds(int64_t us) {
  constexpr uint64_t kNs = 1000;
  if (us < 0) return 0;
  return static_cast<uint64_t>(us) > UINT64_MAX / kNs ? UINT64_MAX : static_cast<uint64_t>(us) * kNs;
}

void ResultBuilder::add_operation(const ThreadLog& log, const RawOperation& raw, uint32_t parent,
                                  const ThreadEvents& thread) {
  EdgeEvent& event = data_->events.emplace_back();
  const uint64_t end_ticks = raw.end_ticks.load(std::memory_order_acquire);
  event.name = thread.name(raw.name);
  event.kind = kind_of(raw.scope);
  event.finished = end_ticks != 0;
  event.start_ns = clock_.of_ticks(raw.begin_ticks);
  event.end_ns = event.finished ? clock_.of_ticks(end_ticks) : data_->end_ns;
  if (event.end_ns < event.start_ns) {
    event.end_ns = event.start_ns;
    reversed_operations_ += event.finished;
  }
  event.raw_start_ns = event.start_ns;
  event.raw_end_ns = event.end_ns;
  event.thread = log.thread;
  event.parent = parent;
  event.debug_handle = raw.debug_handle;
  const RawExtras& extras = log.extras_of(raw);
  event.sequence = extras.sequence;
  event.forward_thread = extras.forward_thread;
  event.engine_id = extras.engine_id;

  const std::span<const std::byte> inputs = log.inputs.run(extras.inputs_at, extras.inputs_size);
  if (!inputs.empty()) {
    std::vector<std::byte>& kept = data_->inputs;
    const auto [found, is_new] = inputs_.try_emplace(inputs, static_cast<uint32_t>(kept.size()));
    const bool has_room = !is_new || inputs.size() <= kNothing - 1 - kept.size();
    if (is_new && has_room) kept.insert(kept.end(), inputs.begin(), inputs.end());
    event.inputs_at = has_room ? found->second : 0;
    event.inputs_size = has_room ? static_cast<uint32_t>(inputs.size()) : 0;
    inputs_without_room_ += !has_room;
    if (!has_room) inputs_.erase(found);
  }
  if (event_count_ == 0 || extras.counts >= log.counts.size() || !event.finished || raw.ended_elsewhere) return;
  if (data_->counts.size() + event_count_ >= EdgeEvent::kNone) {
    ++counts_without_room_;
    return;
  }
  event.counts = static_cast<uint32_t>(data_->counts.size());
  const RawCounts& counts = log.counts[extras.counts];
  for (size_t at = 0; at < event_count_; ++at) {
    const counters::Count count = counters::difference(counts.begin, counts.end, at);
    data_->counts.push_back({count.value, count.value, count.scaled, count.known});
  }
}

void ResultBuilder::add_thread(const ThreadLog& log) {
  ThreadEvents& thread = threads_.emplace_back();
  thread.names.reserve(log.names.size());
  for (uint32_t at = 0; at < log.names.size(); ++at) thread.names.push_back(data_->keep(log.names[at]));
  thread.first = static_cast<uint32_t>(data_->events.size());
  thread.operations = log.operations.size();
  if (log.backend_events.empty()) {
    for (uint32_t at = 0; at < thread.operations; ++at) {
      const RawOperation& raw = log.operations[at];
      add_operation(log, raw, raw.parent < at ? thread.first + raw.parent : EdgeEvent::kNone, thread);
    }
  } else {
    add_with_backend_events(log, thread);
  }
  data_->threads.push_back(
      {log.thread, log.thread_name, thread.first, static_cast<uint32_t>(data_->events.size()) - thread.first});
}

void ResultBuilder::add_with_backend_events(const ThreadLog& log, ThreadEvents& thread) {
  const ThreadTimes times = times_of(log);
  const std::vector<uint32_t>& parents = times.parents;
  std::vector<BackendSpan> spans(log.backend_events.size());
  for (uint32_t at = 0; at < spans.size(); ++at) {
    const RawBackendEvent& raw = log.backend_events[at];
    early_backend_events_ += raw.start_us < 0;
    reversed_backend_events_ += raw.end_us < raw.start_us;
    const uint64_t start = microseconds(raw.start_us);
    spans[at] = {start, std::max(start, microseconds(raw.end_us)), clock_.of_ticks(raw.reported_ticks), raw.backend};
  }
  const std::vector<BackendPlace> places = place_backend_events(times.operations, parents, spans);

  thread.events.resize(thread.operations);
  std::vector<uint32_t> events_of_places(places.size());
  uint32_t next_operation = 0;
  const auto add_operations = [&](uint32_t until) {
    for (; next_operation < until; ++next_operation) {
      thread.events[next_operation] = static_cast<uint32_t>(data_->events.size());
      const uint32_t parent = parents[next_operation];
      add_operation(log, log.operations[next_operation], parent == kNothing ? EdgeEvent::kNone : thread.events[parent],
                    thread);
    }
  };
  for (uint32_t at = 0; at < places.size(); ++at) {
    const BackendPlace& place = places[at];
    add_operations(place.operations_before);
    events_of_places[at] = static_cast<uint32_t>(data_->events.size());
    const RawBackendEvent& raw = log.backend_events[place.event];
    EdgeEvent& event = data_->events.emplace_back();
    event.name = thread.name(raw.name);
    event.backend = thread.name(raw.backend);
    event.kind = EdgeKind::Backend;
    event.start_ns = event.raw_start_ns = spans[place.event].start_ns;
    event.end_ns = event.raw_end_ns = spans[place.event].end_ns;
    event.thread = log.thread;
    event.debug_handle = raw.debug_handle;
    if (place.operation != kNothing) event.parent = thread.events[place.operation];
    if (place.inside != kNothing) event.parent = events_of_places[place.inside];
  }
  add_operations(thread.operations);
}

void ResultBuilder::add_device_events() {
  data_->first_device_event = static_cast<uint32_t>(data_->events.size());
  for (size_t which = 0; which < log_.threads.size(); ++which) {
    const ThreadLog& log = *log_.threads[which];
    const std::vector<uint32_t> causes = causes_of(log);
    for (uint32_t at = 0; at < log.device_operations.size(); ++at) {
      const RawDeviceOperation& raw = log.device_operations[at];
      EdgeEvent& event = data_->events.emplace_back();
      event.name = threads_[which].name(raw.name);
      event.kind = EdgeKind::Device;
      event.start_ns = clock_.of_monotonic(raw.start_ns);
      event.end_ns = std::max(event.start_ns, clock_.of_monotonic(raw.end_ns));
      reversed_device_operations_ += raw.end_ns < raw.start_ns;
      event.raw_start_ns = event.start_ns;
      event.raw_end_ns = event.end_ns;
      event.queued_ns = raw.queued_ns == 0 ? 0 : clock_.of_monotonic(raw.queued_ns);
      event.thread = log.thread;
      event.device = raw.device;
      event.queue = raw.queue;
      event.caused_by = threads_[which].of(causes[at]);
    }
  }
  const std::span<EdgeEvent> events = std::span(data_->events).subspan(data_->first_device_event);
  const auto earlier = [](const EdgeEvent& one, const EdgeEvent& other) { return one.start_ns < other.start_ns; };
  if (!std::ranges::is_sorted(events, earlier)) std::ranges::stable_sort(events, earlier);
}

// ---- Memory, counts and FLOPs --------------------------------------------------------------------------------------

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
  std::unordered_map<TextKey, std::pair<uint64_t, bool>, TextKey::Hash> known;  // by name and inputs
  std::vector<bool> counted(data_->first_device_event);                         // this event or one of its ancestors
  for (uint32_t at = 0; at < data_->first_device_event; ++at) {
    EdgeEvent& event = data_->events[at];
    if (event.parent != EdgeEvent::kNone && counted[event.parent]) {
      counted[at] = true;
      continue;
    }
    if (event.inputs_size == 0) continue;
    const auto [found, is_new] = known.try_emplace(TextKey{event.name.data(), event.inputs_at});
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

// ---- Places in the module, and stacks ------------------------------------------------------------------------------

// Calls of the module that threw an exception.
struct Unanswered {
  uint64_t count = 0;
  std::string first;

  template <class Ask>
  std::string try_to(Ask ask) {
    try {
      return ask();
    } catch (const std::exception& error) {
      if (count++ == 0) first = error.what();
    } catch (...) {
      if (count++ == 0) first = "an exception that is not a std::exception";
    }
    return {};
  }
};

// Functions of Kymo and its engine interface: stacks begin in them, because they record the stack.
bool is_of_kymo(const symbols::Frame& frame) {
  static constexpr std::array<std::string_view, 2> kOwn = {"kymo::edge::", "kymo::symbols::"};
  if (frame.module.find("/libkymo_") != std::string::npos) return true;  // stripped, they have no names
  const std::string_view function = frame.function;
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    const size_t at = function.find(own);
    if (at == 0 || at == std::string_view::npos) return at == 0;
    // The result type of a function template comes before its name.
    return function[at - 1] == ' ' && function.substr(0, at).find_first_of("(<") == std::string_view::npos;
  });
}

std::vector<EdgeFrame> frames_of(std::span<const uintptr_t> addresses, symbols::Symbols& symbols) {
  std::vector<EdgeFrame> frames;
  bool of_kymo = true;
  for (const uintptr_t address : addresses) {
    for (const symbols::Frame& frame : symbols.at_return_address(address)) {
      of_kymo = of_kymo && is_of_kymo(frame);
      if (!of_kymo) frames.push_back({frame.function, frame.file, frame.module, frame.line, frame.inlined});
    }
  }
  return frames;
}

void ResultBuilder::ask_module() {
  if (!options_.modules && !options_.stack) return;
  std::unordered_map<TextKey, std::string_view, TextKey::Hash> hierarchies;  // by name and handle
  std::unordered_map<int64_t, std::string_view> call_stacks;
  Unanswered no_hierarchy, no_call_stack;
  for (EdgeEvent& event : std::span(data_->events).first(data_->first_device_event)) {
    if (event.debug_handle == -1) continue;
    if (options_.modules) {
      const TextKey key{event.name.data(), static_cast<uint64_t>(event.debug_handle)};
      const auto [found, is_new] = hierarchies.try_emplace(key);
      if (is_new)
        found->second = data_->keep(
            no_hierarchy.try_to([&] { return module_.module_hierarchy(event.debug_handle, std::string(event.name)); }));
      event.module_hierarchy = found->second;
    }
    if (options_.stack) {
      const auto [found, is_new] = call_stacks.try_emplace(event.debug_handle);
      if (is_new)
        found->second = data_->keep(no_call_stack.try_to([&] { return module_.call_stack(event.debug_handle); }));
      event.call_stack = found->second;
    }
  }
  const auto add_loss = [&](const Unanswered& unanswered, std::string_view what) {
    if (unanswered.count == 0) return;
    data_->losses.push_back(base::format("the module was asked {} time{} for {} and threw: {}", unanswered.count,
                                         unanswered.count == 1 ? "" : "s", what, unanswered.first));
  };
  add_loss(no_hierarchy, "the place of an operation");
  add_loss(no_call_stack, "the call stack of an operation");
}

void ResultBuilder::name_stacks() {
  if (!options_.stack) return;
  SpanMap<uintptr_t> known;
  std::optional<symbols::SharedSymbols> symbols;
  for (size_t which = 0; which < log_.threads.size(); ++which) {
    const ThreadLog& log = *log_.threads[which];
    std::vector<uint32_t> now(log.stacks.size(), EdgeEvent::kNone);  // the index of each stack in the result
    for (uint32_t at = 0; at < log.operations.size(); ++at) {
      const uint32_t stack = log.extras_of(log.operations[at]).stack;
      if (stack >= now.size()) continue;
      if (now[stack] == EdgeEvent::kNone) {
        const std::span<const uintptr_t> addresses = log.addresses.run(log.stacks[stack].at, log.stacks[stack].count);
        if (addresses.empty()) continue;
        const auto [found, is_new] = known.try_emplace(addresses, static_cast<uint32_t>(data_->stacks.size()));
        if (is_new) {
          if (!symbols) symbols.emplace();
          data_->stacks.push_back(frames_of(addresses, **symbols));
        }
        now[stack] = found->second;
      }
      data_->events[threads_[which].of(at)].stack = now[stack];
    }
  }
}

// ---- All steps -----------------------------------------------------------------------------------------------------

std::shared_ptr<const ResultData> ResultBuilder::build() {
  data_->pid = static_cast<uint64_t>(getpid());
  data_->start_ns = clock_.of_ticks(log_.begin.ticks);
  data_->end_ns = std::max(data_->start_ns, clock_.of_ticks(log_.end.ticks));
  data_->losses = options_.losses;
  if (log_.options != nullptr) {
    data_->inputs_wanted = log_.options->wanted.inputs && options_.inputs;
    data_->memory_wanted = log_.options->wanted.memory;
    for (size_t at = 0; at < event_count_; ++at) data_->event_names.push_back(log_.options->events[at].name);
  }
  data_->stack_wanted = options_.stack;
  data_->flops_wanted = options_.flops;
  data_->modules_wanted = options_.modules;

  size_t count = 0;
  for (const ThreadLog* const log : log_.threads)
    count += size_t{log->operations.size()} + log->backend_events.size() + log->device_operations.size();
  data_->events.reserve(count);
  for (const ThreadLog* const log : log_.threads) add_thread(*log);
  add_device_events();
  add_memory();
  share_with_parents();
  subtract_overhead();
  if (options_.flops) add_flops();
  ask_module();
  name_stacks();
  link_tree(data_->events);
  if (options_.adjust_vulkan) adjust_vulkan_timestamps(*data_);
  if (!options_.inputs) {
    for (EdgeEvent& event : data_->events) event.inputs_at = event.inputs_size = 0;
    data_->inputs = {};
  }
  report_losses();
  return std::move(data_);
}

void ResultBuilder::report_losses() {
  const auto add_loss = [&](uint64_t count, std::string_view one, std::string_view many) {
    if (count != 0) data_->losses.push_back(base::format("{} {}", count, count == 1 ? one : many));
  };
  uint64_t not_kept = 0;
  for (const ThreadLog* const log : log_.threads) {
    not_kept += log->not_kept;
    if (log->no_counters.empty()) continue;
    data_->losses.push_back(
        base::format("performance events were not counted on thread {}: {}", log->thread, log->no_counters));
  }
  add_loss(not_kept, "record was dropped: out of memory, or the log was full",
           "records were dropped: out of memory, or the log was full");
  add_loss(reversed_operations_, "operation ended before it began", "operations ended before they began");
  add_loss(early_backend_events_, "backend event began before 1970", "backend events began before 1970");
  add_loss(reversed_backend_events_, "backend event ended before it began", "backend events ended before they began");
  add_loss(reversed_device_operations_, "device operation ended before it began",
           "device operations ended before they began");
  add_loss(inputs_without_room_, "operation's inputs were dropped: the log was full",
           "operations' inputs were dropped: the log was full");
  add_loss(counts_without_room_, "operation's counts were dropped: the log was full",
           "operations' counts were dropped: the log was full");
  if (clock_.set_by_ns() != 0)
    data_->losses.push_back(
        base::format("the system clock was set by {:+.6f} s during the recording: times continue as if it had not been "
                     "set, and events that backends timed with it are wrong by that amount",
                     static_cast<double>(clock_.set_by_ns()) * 1e-9));
}

}  // namespace

std::shared_ptr<const ResultData> build_result(const LogContents& log, const Module& module,
                                               const BuildOptions& options) {
  return ResultBuilder(log, module, options).build();
}

}  // namespace kymo::edge
