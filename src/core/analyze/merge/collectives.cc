#include "analyze/merge/collectives.h"

#include <algorithm>

#include "analyze/report/device_work.h"

namespace kymo::analyze {
namespace {

constexpr size_t kMostEvents = 4 << 20;

}  // namespace

SharedEvents shared_events(EventWalk& walk, const std::string& mark) {
  // The classes that count, by writer.
  std::map<uint32_t, std::map<uint32_t, std::string>> wanted;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (wanted.count(track.writer_number) != 0) continue;
    auto& classes = wanted[track.writer_number];
    for (const auto& [id, event_class] : track.writer->classes) {
      const bool counts = mark.empty() ? work_kind(event_class.category, event_class.name) == WorkKind::Communication
                                       : trace::shown_name(event_class) == mark;
      if (counts) classes.emplace(id, event_class.name);
    }
  }
  SharedEvents events;
  size_t count = 0;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kPoints,
      [&](const TrackOfTrace& track) {
        return !wanted[track.writer_number].empty() && (track.on_device || !mark.empty());
      },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const auto& classes = wanted[track.writer_number];
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          const auto known = classes.find(batch.ranges.class_id[i]);
          if (known == classes.end() || ++count > kMostEvents) continue;
          events[known->second].push_back(
              {track.ns(batch.ranges.end[i] - batch.ranges.duration[i]), track.ns(batch.ranges.end[i])});
        }
        for (size_t i = 0; i < batch.points.size() && !mark.empty(); ++i) {
          const auto known = classes.find(batch.points.class_id[i]);
          if (known == classes.end() || ++count > kMostEvents) continue;
          const int64_t time = track.ns(batch.points.time[i]);
          events[known->second].push_back({time, time});
        }
      });
  for (auto& [name, list] : events)
    std::sort(list.begin(), list.end(), [](const SharedEvent& a, const SharedEvent& b) { return a.end < b.end; });
  return events;
}

}  // namespace kymo::analyze
