#include "analyze/range_groups.h"

#include <cmath>
#include <utility>

#include "base/clock_map.h"
#include "base/text.h"

namespace kymo::analyze {

namespace {

// Class ids are assigned in order, so a table by id is nearly full. A forged id must not make the table huge.
size_t table_size(const std::map<uint32_t, trace::EventClass>& classes) {
  constexpr size_t kAlways = 1024;
  const size_t wanted = classes.empty() ? 1 : classes.rbegin()->first + size_t{1};
  return std::min(wanted, kAlways + 4 * classes.size());
}

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
    self += static_cast<double>(part->self) * part->ns_per_tick;
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
  classes_.resize(table_size(scope.writer.classes));
  slots_.resize(classes_.size());
  for (const auto& [id, event_class] : scope.writer.classes) {
    if (id < classes_.size() && id != trace::kInlineName) classes_[id] = &event_class;
  }
}

const trace::EventClass* ClassSlots::find_class(uint32_t class_id) const {
  const auto found = scope_.writer.classes.find(class_id);
  return found == scope_.writer.classes.end() ? nullptr : &found->second;
}

RangeSums& ClassSlots::of(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row) {
  const bool is_inline = class_id == trace::kInlineName;
  if (options_.group_by != GroupBy::Name || (!is_inline && !options_.full_text)) return of(class_id);
  const trace::EventClass* const known = event_class(class_id);
  if (!is_inline && (known == nullptr || known->name.find_first_of("{}") == std::string::npos)) return of(class_id);
  return by_text(class_id, trace::full_name(known, row), is_inline ? std::string() : known->category);
}

RangeSums& ClassSlots::find(uint32_t class_id) {
  RangeSums* found = nullptr;
  if (options_.group_by == GroupBy::Thread) {
    if (thread_ == nullptr) thread_ = &groups_.sums(key({}, {}), scope_.ns_per_tick);
    found = thread_;
  } else if (const trace::EventClass* const known = event_class(class_id); known != nullptr) {
    found = &by_text(class_id, trace::shown_name(*known), known->category);
  } else {
    found = &by_text(trace::kInlineName, class_id == trace::kInlineName ? "(no name)" : "(unknown class)", {});
  }
  if (class_id < slots_.size()) slots_[class_id] = found;
  return *found;
}

RangeSums& ClassSlots::by_text(uint32_t class_id, const std::string& text, const std::string& category) {
  auto& texts = texts_[class_id];
  if (const auto found = texts.find(text); found != texts.end()) return *found->second;
  if (text_count_ < kMaxTexts) {
    ++text_count_;
    return *(texts[text] = &groups_.sums(key(text, category), scope_.ns_per_tick));
  }
  if (others_ == nullptr) others_ = &groups_.sums(key("(other names)", {}), scope_.ns_per_tick);
  return *others_;
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

}  // namespace kymo::analyze
