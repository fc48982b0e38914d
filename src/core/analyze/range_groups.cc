#include "analyze/range_groups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/operation_name.h"
#include "base/clock_map.h"
#include "base/text.h"
#include "trace/model.h"

namespace kymo::analyze {

namespace {

constexpr size_t kMaxTexts = 1 << 16;

RangeRow make_row(const RangeKey& key, const std::vector<RangeSums*>& parts) {
  RangeRow row{.name = key.name,
               .category = key.category,
               .pid = key.pid,
               .tid = key.tid,
               .device = key.device,
               .across_threads = key.across_threads,
               .on_device = key.on_device,
               .unfinished = key.unfinished};
  double total = 0, self = 0, shortest = HUGE_VAL, longest = 0;
  std::vector<ScaledDurations> durations;
  for (RangeSums* part : parts) {
    if (part->count == 0) continue;
    row.count += part->count;
    total += static_cast<double>(part->total) * part->ns_per_tick;
    // Only a forged file has more time inside of ranges than the ranges have.
    const uint64_t part_self = part->total - part->inside;
    self += static_cast<double>(part_self <= part->total ? part_self : 0) * part->ns_per_tick;
    row.has_states |= part->has_states;
    for (size_t i = 0; i < row.in_state.size(); ++i) row.in_state[i] += part->in_state[i];
    shortest = std::min(shortest, static_cast<double>(part->shortest) * part->ns_per_tick);
    longest = std::max(longest, static_cast<double>(part->longest) * part->ns_per_tick);
    durations.push_back({&part->durations, part->ns_per_tick});
  }
  if (row.count == 0) return row;
  row.total_ns = base::round_ns(total);
  row.self_ns = base::round_ns(self);
  if (row.unfinished) return row;
  row.min_ns = base::round_ns(shortest);
  row.max_ns = base::round_ns(longest);

  const Quantiles q = quantiles(durations);
  row.approximate = q.approximate;
  row.relative_error = q.approximate ? LogHistogram::kRelativeError : 0;
  // The middle of a bucket may lie outside of the observed range. The real value cannot.
  row.median_ns = std::clamp(base::round_ns(q.median_ns), row.min_ns, row.max_ns);
  row.p99_ns = std::clamp(base::round_ns(q.p99_ns), row.min_ns, row.max_ns);
  return row;
}

}  // namespace

RangeSums& RangeGroups::sums(const RangeKey& key, double ns_per_tick) {
  RangeSums& sums = sums_.emplace_back(budget_, ns_per_tick);
  const auto group = groups_.try_emplace(key).first;
  group->second.push_back(&sums);
  sums.key = &group->first;
  return sums;
}

RangeSums& RangeGroups::unfinished(RangeSums& of) {
  if (of.unfinished == nullptr) {
    RangeKey key = *of.key;
    key.unfinished = true;
    of.unfinished = &sums(key, of.ns_per_tick);
  }
  return *of.unfinished;
}

std::vector<RangeRow> RangeGroups::rows() {
  std::vector<RangeRow> rows;
  for (const auto& [key, parts] : groups_) {
    RangeRow row = make_row(key, parts);
    if (row.count != 0) rows.push_back(std::move(row));
  }
  // Groups are sorted by name, and rows with equal totals keep that order.
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return rows;
}

ClassSlots::ClassSlots(RangeGroups& groups, const StatsOptions& options, const Scope& scope)
    : groups_(groups), options_(options), scope_(scope) {
  classes_.resize(scope.writer.class_table_size());
  slots_.resize(classes_.size());
  for (const auto& [id, event_class] : scope.writer.classes) {
    if (id < classes_.size() && id != trace::kInlineName) classes_[id] = &event_class;
  }
}

uint32_t ClassSlots::number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row) {
  const bool is_inline = class_id == trace::kInlineName;
  const trace::EventClass* const known = event_class(class_id);
  const bool has_places = known != nullptr && known->name.find_first_of("{}") != std::string::npos;
  if (options_.group_by == GroupBy::Name && (is_inline || (options_.full_text && has_places))) {
    const std::string text = trace::full_name(known, row);
    return by_text(class_id, options_.full_text ? text : base::without_iteration_number(text),
                   is_inline ? std::string() : known->category);
  }
  if (class_id < classes_.size()) return class_id;
  return known == nullptr ? by_text(trace::kInlineName, "(unknown class)", {})
                          : by_text(class_id, name_of(*known), known->category);
}

uint32_t ClassSlots::number(const trace::OpenRange& range) {
  const trace::Values values{range.ints, range.doubles, range.text};
  return number(range.class_id, trace::ValueCursor(values).next(event_class(range.class_id)));
}

std::span<const uint32_t> ClassSlots::numbers(const trace::Ranges& ranges) {
  const bool has_values = !ranges.values.ints.empty() || !ranges.values.doubles.empty();
  const std::vector<uint32_t>& ids = ranges.class_id;
  if (!has_values && (ids.empty() || *std::max_element(ids.begin(), ids.end()) < classes_.size())) return ids;
  numbers_.clear();
  trace::ValueCursor cursor(ranges.values);
  static const std::vector<trace::ValueCursor::Value> kNoValues;
  for (const uint32_t id : ids) numbers_.push_back(number(id, has_values ? cursor.next(event_class(id)) : kNoValues));
  return numbers_;
}

RangeSums& ClassSlots::sums_of_class(uint32_t class_id) {
  if (options_.group_by == GroupBy::Thread) {
    if (thread_ == nullptr) thread_ = &groups_.sums(key({}, {}), scope_.ns_per_tick);
    return *thread_;
  }
  const trace::EventClass* const known = event_class(class_id);
  if (known != nullptr) return groups_.sums(key(name_of(*known), known->category), scope_.ns_per_tick);
  return groups_.sums(key(class_id == trace::kInlineName ? "(no name)" : "(unknown class)", {}), scope_.ns_per_tick);
}

std::string ClassSlots::name_of(const trace::EventClass& event_class) const {
  return options_.full_text ? trace::shown_name(event_class) : operation_name(event_class);
}

uint32_t ClassSlots::by_text(uint32_t class_id, const std::string& text, const std::string& category) {
  if (options_.group_by == GroupBy::Thread) return trace::kInlineName;
  auto& texts = texts_[class_id];
  if (const auto found = texts.find(text); found != texts.end()) return found->second;
  if (text_count_ < kMaxTexts) {
    ++text_count_;
    return texts[text] = add(groups_.sums(key(text, category), scope_.ns_per_tick));
  }
  if (!others_) others_ = add(groups_.sums(key("(other names)", {}), scope_.ns_per_tick));
  return *others_;
}

uint32_t ClassSlots::add(RangeSums& sums) {
  slots_.push_back(&sums);
  return static_cast<uint32_t>(slots_.size() - 1);
}

RangeKey ClassSlots::key(std::string name, std::string category) const {
  RangeKey key;
  key.across_threads = scope_.across_threads;
  key.on_device = scope_.track.kind == trace::TrackKind::DeviceQueue;
  switch (options_.group_by) {
    case GroupBy::Name:
      key.name = std::move(name);
      key.category = std::move(category);
      break;
    case GroupBy::Category:
      key.name = category;
      key.category = std::move(category);
      break;
    case GroupBy::Thread:
      key.name = !scope_.track.name.empty() ? scope_.track.name
                 : key.on_device            ? base::format("queue {}", scope_.track.queue)
                                            : base::format("thread {}", scope_.track.tid);
      key.pid = scope_.writer.origin.pid;
      key.tid = scope_.track.tid;
      key.device = scope_.track.device_id();
      break;
  }
  return key;
}

namespace {

uint64_t length_ns(int64_t from, int64_t to) {
  return from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

}  // namespace

int64_t nanoseconds(const trace::ClockMap& clock, uint64_t ticks) {
  return clock.usable() ? clock.to_monotonic_ns(ticks) : static_cast<int64_t>(clock.duration_ns(ticks));
}

PointTables::PointTables(const StatsOptions& options)
    : options_(options),
      async_([](uint64_t, const Begin& begin, const End& end) { begin.sums->add(length_ns(begin.ns, end.ns)); }) {}

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
        counters_[name()].add(row.empty() ? 0 : row[0].number(), nanoseconds(source.clock, points.time[i]));
        break;
      case trace::PointKind::AsyncBegin:
        if (!async_.begin({source.writer, points.id[i]},
                          {nanoseconds(source.clock, points.time[i]),
                           &source.async_slots.of(source.async_slots.number(class_id, row))}))
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
    groups.unfinished(*begin.sums).add(length_ns(begin.ns, end));
  });
  into.unmatched_ends += async_.unmatched_ends();
}

}  // namespace kymo::analyze
