#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "edge/backend_places.h"
#include "edge/result_builder.h"

namespace kymo::edge {

namespace {

EdgeKind kind_of(Scope scope) {
  switch (scope) {
    case Scope::Operator:
      return EdgeKind::Operator;
    case Scope::User:
      return EdgeKind::User;
    case Scope::Backward:
      return EdgeKind::Backward;
    case Scope::Function:
      return EdgeKind::Function;
  }
  return EdgeKind::Operator;
}

uint64_t microseconds(int64_t us) {
  constexpr uint64_t kNs = 1000;
  if (us < 0) return 0;
  return static_cast<uint64_t>(us) > UINT64_MAX / kNs ? UINT64_MAX : static_cast<uint64_t>(us) * kNs;
}

}  // namespace

uint32_t InputPool::add(std::span<const std::byte> inputs) {
  const uint64_t hash = base::hash(inputs);
  size_t place = hash & (slots_.size() - 1);
  for (; slots_[place].size != 0; place = (place + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[place];
    if (slot.hash == hash && slot.size == inputs.size() &&
        std::memcmp(inputs.data(), bytes_.data() + slot.at, inputs.size()) == 0)
      return slot.at;
  }
  if (inputs.size() > kNothing - 1 - bytes_.size()) return kNothing;
  const auto at = static_cast<uint32_t>(bytes_.size());
  slots_[place] = {hash, at, static_cast<uint32_t>(inputs.size())};
  bytes_.insert(bytes_.end(), inputs.begin(), inputs.end());
  if (++used_ * 2 > slots_.size()) enlarge();
  return at;
}

void InputPool::enlarge() {
  std::vector<Slot> larger(slots_.size() * 2);
  for (const Slot& slot : slots_) {
    if (slot.size == 0) continue;
    size_t place = slot.hash & (larger.size() - 1);
    while (larger[place].size != 0) place = (place + 1) & (larger.size() - 1);
    larger[place] = slot;
  }
  slots_ = std::move(larger);
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
    const uint32_t at = inputs_.add(inputs);
    event.inputs_at = at == kNothing ? 0 : at;
    event.inputs_size = at == kNothing ? 0 : static_cast<uint32_t>(inputs.size());
    inputs_without_room_ += at == kNothing;
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

}  // namespace kymo::edge
