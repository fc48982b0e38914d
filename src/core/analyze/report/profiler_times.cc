#include "analyze/report/profiler_times.h"

#include <set>
#include <utility>
#include <vector>

#include "analyze/report/known_names.h"

namespace kymo::analyze {

ProfilerTimes::ProfilerTimes(EventWalk& walk) {
  std::map<uint32_t, std::vector<Interval>> own;
  std::map<uint32_t, bool> has_others;
  const auto is_cost = [](const trace::EventClass& one) { return is_profiler_cost(one.category, one.name); };
  std::set<uint32_t> writers;
  std::set<std::pair<uint32_t, uint32_t>> costs;  // by writer and class
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!writers.insert(track.writer_number).second) continue;
    for (const auto& [id, one] : track.writer->classes)
      // The span of a whole recording is not the profiler's work.
      if (is_cost(one) && one.category != "Trace") costs.insert({track.writer_number, id});
  }
  if (costs.empty()) return;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses, [](const TrackOfTrace& track) { return !track.on_device; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        for (size_t i = 0; i < batch.ranges.size(); ++i) {
          if (!costs.contains({track.writer_number, batch.ranges.class_id[i]}))
            has_others[track.number] = true;
          else
            own[track.number].push_back(
                {track.ns(batch.ranges.end[i] - batch.ranges.duration[i]), track.ns(batch.ranges.end[i])});
        }
      });
  std::vector<Interval> all;
  for (auto& [track, times] : own) {
    if (has_others[track])
      by_track_[track] = Intervals(std::move(times));
    else
      all.insert(all.end(), times.begin(), times.end());
  }
  everywhere_ = Intervals(std::move(all));
  for (auto& [track, times] : by_track_) times = united(times, everywhere_);
}

const Intervals& ProfilerTimes::on(uint32_t track) const {
  const auto found = by_track_.find(track);
  return found == by_track_.end() ? everywhere_ : found->second;
}

}  // namespace kymo::analyze
