#include "analyze/point_tables.h"

#include <algorithm>

#include "trace/definition.h"

namespace kymo::analyze {

namespace {

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

uint64_t length_ns(int64_t from, int64_t to) {
  return from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

}  // namespace

int64_t nanoseconds(const trace::ClockMap& clock, uint64_t ticks) {
  return clock.usable() ? clock.to_monotonic_ns(ticks) : static_cast<int64_t>(clock.duration_ns(ticks));
}

PointTables::PointTables(const StatsOptions& options)
    : options_(options), async_([](uint64_t, const Begin& begin, const End& end) {
        const uint64_t duration = length_ns(begin.ns, end.ns);
        begin.sums->add(duration, duration);
      }) {}

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
    if (event_class != nullptr && trace::is_definition(*event_class)) continue;
    const auto name = [&]() -> NameAndCategory {
      if (event_class == nullptr) return {trace::full_name(nullptr, row), {}};
      return {options_.full_text ? trace::full_name(event_class, row) : trace::shown_name(*event_class),
              event_class->category};
    };
    switch (points.kind[i]) {
      case trace::PointKind::Instant:
        ++instants_[name()];
        break;
      case trace::PointKind::Counter:
        counters_[name()].add(number_of(row), nanoseconds(source.clock, points.time[i]));
        break;
      case trace::PointKind::AsyncBegin:
        if (!async_.begin({source.writer, points.id[i]},
                          {nanoseconds(source.clock, points.time[i]), &source.async_slots.of(class_id, row)}))
          ++unfinished_in_no_row_;
        break;
      case trace::PointKind::AsyncEnd:
        async_.end({source.writer, points.id[i]}, {nanoseconds(source.clock, points.time[i])});
        break;
      default:
        ++other_points_;
    }
  }
}

void PointTables::finish(Statistics& into, RangeGroups& groups, const std::vector<int64_t>& ends_ns) {
  for (const auto& [key, count] : instants_) into.instants.push_back({key.first, key.second, count});
  std::stable_sort(into.instants.begin(), into.instants.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  for (const auto& [key, sums] : counters_) {
    into.counters.push_back(
        {key.first, key.second, sums.count, sums.min, sums.max, sums.last, sums.sum / static_cast<double>(sums.count)});
  }
  into.unfinished += unfinished_in_no_row_;
  into.unfinished_in_no_row += unfinished_in_no_row_;
  into.other_points += other_points_;
  async_.finish([&](const trace::AsyncHandle& handle, const Begin& begin) {
    ++into.unfinished;
    const int64_t end = handle.writer < ends_ns.size() ? ends_ns[handle.writer] : begin.ns;
    const uint64_t duration = length_ns(begin.ns, end);
    groups.unfinished(*begin.sums).add(duration, duration);
  });
  into.unmatched_ends += async_.unmatched_ends();
}

}  // namespace kymo::analyze
