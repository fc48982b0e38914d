#include "analyze/report/host_time.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "analyze/innermost.h"
#include "analyze/operation_name.h"
#include "analyze/report/events.h"
#include "analyze/report/known_names.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostShapes = 100'000;
constexpr uint32_t kUsualClasses = 1 << 20;

struct Sums {
  uint64_t self = 0, total = 0, count = 0, longest = 0, running = 0, waiting = 0;
};

struct TrackSums {
  const Intervals* times = nullptr;
  const OneThread* one = nullptr;
  size_t hint = 0, running_hint = 0, waiting_hint = 0;
  RangesBackwards ranges;
  Innermost<uint32_t> innermost;  // the owner is a class
  uint64_t covered = 0;           // by any range
  std::vector<Sums> by_class;
  std::map<uint32_t, Sums> unusual;  // of classes that only a forged trace has

  Sums& sums_of(uint32_t class_id) {
    if (class_id >= kUsualClasses) return unusual[class_id];
    if (class_id >= by_class.size()) by_class.resize(class_id + size_t{1});
    return by_class[class_id];
  }

  void take(uint32_t class_id, int64_t begin, int64_t end) {
    const uint64_t part = times->covered(begin, end, hint);
    covered += part;
    if (part == 0) return;
    Sums& sums = sums_of(class_id);
    sums.self += part;
    if (one == nullptr) return;
    sums.running += one->running.covered(begin, end, running_hint);
    sums.waiting += one->waiting.covered(begin, end, waiting_hint);
  }

  void add(const TrackRange& range) {
    innermost.add(range.begin, range.end, range.class_id,
                  [this](uint32_t class_id, int64_t begin, int64_t end) { take(class_id, begin, end); });
    const uint64_t part = times->covered(range.begin, range.end, hint);
    if (part == 0) return;
    Sums& sums = sums_of(range.class_id);
    sums.total += part;
    sums.count += 1;
    sums.longest = std::max(sums.longest, static_cast<uint64_t>(range.end) - static_cast<uint64_t>(range.begin));
  }

  void finish() {
    ranges.finish([this](const TrackRange& range) { add(range); });
    innermost.finish([this](uint32_t class_id, int64_t begin, int64_t end) { take(class_id, begin, end); });
  }
};

class Shapes {
 public:
  void add(const TrackOfTrace& track, const trace::Ranges& ranges, const Intervals& times) {
    trace::ValueCursor cursor(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const trace::EventClass* const shape = class_of(track, ranges.class_id[i]);
      const auto& row = cursor.next(shape);
      const int field = field_of(ranges.class_id[i], shape);
      if (field < 0 || row[static_cast<size_t>(field)].text.size() <= 2) continue;
      const uint64_t part = times.covered(track.ns(ranges.end[i] - ranges.duration[i]), track.ns(ranges.end[i]), hint_);
      if (part == 0) continue;
      key_.assign(shape->name).append("\n").append(row[static_cast<size_t>(field)].text);
      auto at = rows_.find(key_);
      if (at == rows_.end()) {
        if (rows_.size() >= kMostShapes) continue;
        at = rows_
                 .emplace(key_,
                          ShapeRow{trace::shown_name(*shape), std::string(row[static_cast<size_t>(field)].text), 0, 0})
                 .first;
      }
      at->second.count += 1;
      at->second.total_ns += part;
    }
  }
  std::vector<ShapeRow> rows() {
    std::vector<ShapeRow> all;
    for (auto& [key, row] : rows_) {
      row.shapes = shapes_in_one_line(row.shapes);
      all.push_back(std::move(row));
    }
    std::sort(all.begin(), all.end(), [](const ShapeRow& a, const ShapeRow& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name + a.shapes < b.name + b.shapes;
    });
    return all;
  }

 private:
  static const trace::EventClass* class_of(const TrackOfTrace& track, uint32_t class_id) {
    return track.writer->find_class(class_id);
  }
  int field_of(uint32_t class_id, const trace::EventClass* shape) {
    const auto [entry, is_new] = fields_.try_emplace(class_id, -1);
    if (is_new && shape != nullptr)
      for (size_t i = 0; i < shape->fields.size(); ++i)
        if (shape->fields[i].name == kInputShapes && shape->fields[i].type == trace::FieldType::String)
          entry->second = static_cast<int>(i);
    return entry->second;
  }

  std::unordered_map<std::string, ShapeRow> rows_;
  std::unordered_map<uint32_t, int> fields_;
  std::string key_;
  size_t hint_ = 0;
};

bool has_shapes(const trace::WriterInfo& writer) {
  for (const auto& [id, event_class] : writer.classes)
    for (const trace::Field& field : event_class.fields)
      if (field.name == kInputShapes) return true;
  return false;
}

HostTime rows_of(const TrackOfTrace& track, const TrackSums& sums) {
  HostTime time;
  // Classes that differ only in their fields, or in the number of an iteration, are one row.
  std::map<std::pair<std::string, std::string>, HostRow> rows;
  const auto add = [&](uint32_t id, const Sums& one) {
    if (one.count == 0) return;
    const trace::EventClass* const known = track.writer->find_class(id);
    const std::string name = known != nullptr ? operation_name(*known) : "(names with the events)";
    const std::string category = known != nullptr ? known->category : "";
    if (is_profiler_cost(category, name)) {
      time.profiling_ns += one.self;
      return;
    }
    HostRow& row = rows[{name, category}];
    row.name = name;
    row.category = category;
    row.self_ns += one.self;
    row.total_ns += one.total;
    row.count += one.count;
    row.longest_ns = std::max(row.longest_ns, one.longest);
    row.running_ns += one.running;
    row.waiting_ns += one.waiting;
  };
  for (uint32_t id = 0; id < sums.by_class.size(); ++id) add(id, sums.by_class[id]);
  for (const auto& [id, one] : sums.unusual) add(id, one);
  for (auto& [key, row] : rows) time.rows.push_back(std::move(row));
  std::ranges::stable_sort(time.rows, std::ranges::greater(), &HostRow::self_ns);
  const uint64_t all = sums.times->length();
  time.outside_ns = all - std::min(all, sums.covered);
  return time;
}

}  // namespace

std::map<uint32_t, HostTime> host_time(EventWalk& walk, const std::map<uint32_t, Intervals>& times,
                                       const OneThread& one) {
  std::map<uint32_t, TrackSums> tracks;
  for (const auto& [track, intervals] : times) {
    tracks[track].times = &intervals;
    if (track == one.track) tracks[track].one = &one;
  }
  const bool with_shapes =
      one.shapes != nullptr && one.track < walk.tracks().size() && has_shapes(*walk.tracks()[one.track].writer);
  const unsigned parts = RangesBackwards::kParts | (with_shapes ? trace::kRangeValues : 0u);
  Shapes found;
  walk.each_backwards(
      parts, [&](const TrackOfTrace& track) { return tracks.count(track.number) != 0; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        TrackSums& sums = tracks.at(track.number);
        sums.ranges.add(track, batch, [&](const TrackRange& range) { sums.add(range); });
        if (with_shapes && track.number == one.track) found.add(track, batch.ranges, *sums.times);
      });
  std::map<uint32_t, HostTime> result;
  for (auto& [number, sums] : tracks) {
    sums.finish();
    result[number] = rows_of(walk.tracks()[number], sums);
  }
  if (with_shapes) *one.shapes = found.rows();
  return result;
}

}  // namespace kymo::analyze
