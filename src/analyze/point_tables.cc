#include "analyze/point_tables.h"

#include <algorithm>

namespace kymo::analyze {

namespace {

constexpr size_t kMaxWaiting = 1'000'000;

double number_of(const std::vector<trace::ValueCursor::Value>& row) {
  if (row.empty()) return 0;
  switch (row[0].type) {
    case trace::FieldType::Double:
      return row[0].real;
    case trace::FieldType::Int:
      return static_cast<double>(static_cast<int64_t>(row[0].bits));
    default:
      return static_cast<double>(row[0].bits);
  }
}

}  // namespace

int64_t nanoseconds(const trace::ClockMap& clock, uint64_t ticks) {
  return clock.usable() ? clock.to_monotonic_ns(ticks) : static_cast<int64_t>(clock.duration_ns(ticks));
}

void PointTables::CounterSums::add(double value, int64_t ns) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  sum += value;
  ++count;
  if (ns >= last_ns) {
    last = value;
    last_ns = ns;
  }
}

void PointTables::add(const PointSource& source, const trace::Points& points) {
  trace::ValueCursor cursor(points.values);
  for (size_t i = 0; i < points.size(); ++i) {
    const uint32_t class_id = points.class_id[i];
    const trace::EventClass* const event_class = source.async_slots.event_class(class_id);
    const auto& row = cursor.next(event_class);
    const auto name = [&]() -> NameAndCategory {
      if (event_class == nullptr) return {trace::full_name(nullptr, row), {}};
      return {options_.full_text ? trace::full_name(event_class, row) : event_class->name, event_class->category};
    };
    switch (points.kind[i]) {
      case trace::PointKind::Instant:
        ++instants_[name()];
        break;
      case trace::PointKind::Counter:
        counters_[name()].add(number_of(row), nanoseconds(source.clock, points.time[i]));
        break;
      case trace::PointKind::AsyncBegin:
        add_end_of_async_range({source.writer, points.id[i]},
                               {nanoseconds(source.clock, points.time[i]), &source.async_slots.of(class_id, row)});
        break;
      case trace::PointKind::AsyncEnd:
        add_end_of_async_range({source.writer, points.id[i]}, {nanoseconds(source.clock, points.time[i]), nullptr});
        break;
      default:
        ++other_points_;
    }
  }
}

void PointTables::add_end_of_async_range(const Handle& handle, const Waiting& arrived) {
  const auto found = waiting_.find(handle);
  const bool is_begin = arrived.sums != nullptr;
  if (found != waiting_.end() && (found->second.sums != nullptr) != is_begin) {
    const Waiting& begin = is_begin ? arrived : found->second;
    const Waiting& end = is_begin ? found->second : arrived;
    const uint64_t duration = begin.ns < end.ns ? static_cast<uint64_t>(end.ns) - static_cast<uint64_t>(begin.ns) : 0;
    begin.sums->add(duration, duration);
    waiting_.erase(found);
  } else if (found != waiting_.end() || waiting_.size() >= kMaxWaiting) {
    ++(is_begin ? unfinished_ : unmatched_ends_);  // the same end twice, or nowhere to wait
  } else {
    waiting_.emplace(handle, arrived);
  }
}

void PointTables::finish(Statistics& into, RangeGroups& groups, const std::vector<int64_t>& ends_ns) const {
  for (const auto& [key, count] : instants_) into.instants.push_back({key.first, key.second, count});
  std::stable_sort(into.instants.begin(), into.instants.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  for (const auto& [key, sums] : counters_) {
    into.counters.push_back(
        {key.first, key.second, sums.count, sums.min, sums.max, sums.last, sums.sum / static_cast<double>(sums.count)});
  }
  into.unfinished += unfinished_;
  into.unfinished_in_no_row += unfinished_;
  into.unmatched_ends += unmatched_ends_;
  into.other_points += other_points_;
  for (const auto& [handle, waiting] : waiting_) {
    if (waiting.sums == nullptr) {
      ++into.unmatched_ends;
      continue;
    }
    ++into.unfinished;
    const int64_t end = handle.writer < ends_ns.size() ? ends_ns[handle.writer] : waiting.ns;
    const uint64_t duration = waiting.ns < end ? static_cast<uint64_t>(end) - static_cast<uint64_t>(waiting.ns) : 0;
    groups.unfinished(*waiting.sums).add(duration, duration);
  }
}

}  // namespace kymo::analyze
