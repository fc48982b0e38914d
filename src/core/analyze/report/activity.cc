#include "analyze/report/activity.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analyze/report/host_calls.h"
#include "analyze/report/operation_starts.h"
#include "analyze/report/thread_waits.h"

namespace kymo::analyze {
namespace {

bool overlaps(const Interval& window, int64_t begin, int64_t end) { return begin < window.end && end > window.begin; }

// The ranges of the threads, and the calls and flows that say what they waited for.
class HostReader {
 public:
  HostReader(EventWalk& walk, Activity& activity) : walk_(walk), activity_(activity) {}

  HostCalls read() {
    std::map<uint32_t, RangesBackwards> ranges;
    walk_.each_backwards(
        RangesBackwards::kParts | trace::kRangeCorrelations | trace::kPoints,
        [](const TrackOfTrace& track) { return !track.on_device; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          ranges[track.number].add(track, batch, [&](const TrackRange& range) { add(track, range); });
          add_flows(track, batch.points);
        });
    for (auto& [number, rest] : ranges) {
      const TrackOfTrace& track = walk_.tracks()[number];
      rest.finish([&](const TrackRange& range) { add(track, range); });
    }
    return std::move(calls_);
  }

 private:
  void add(const TrackOfTrace& track, const TrackRange& range) {
    const Interval& window = activity_.window;
    const CallKind kind = kinds_.of(track, range.class_id);
    // The call may be before the window, and what it launched in it.
    if (kind != CallKind::Plain) calls_.add(kind, track.number, range);
    if (!overlaps(window, range.begin, range.end)) return;
    if (++count_ > Activity::kMostRanges) {
      ++activity_.left_out;
      return;
    }
    activity_.threads[track.number].ranges.push_back(
        {std::max(range.begin, window.begin), std::min(range.end, window.end), range.class_id});
  }

  void add_flows(const TrackOfTrace& track, const trace::Points& points) {
    for (size_t i = 0; i < points.size(); ++i) {
      if (!trace::is_of_flow(points.kind[i])) continue;
      const int64_t time = track.ns(points.time[i]);
      if (time < activity_.window.begin || time > activity_.window.end) continue;
      if (calls_.flows.size() >= Activity::kMostRanges || kinds_.of(track, points.class_id[i]) == CallKind::Gradient)
        continue;
      calls_.flows.push_back({track.writer_number, track.number, points.id[i], time,
                              points.kind[i] != trace::PointKind::FlowBegin,
                              points.kind[i] != trace::PointKind::FlowEnd});
    }
  }

  EventWalk& walk_;
  Activity& activity_;
  HostCalls calls_;
  CallKinds kinds_;
  size_t count_ = 0;
};

}  // namespace

uint32_t Activity::busiest_thread() const {
  uint32_t found = kNone;
  uint64_t most = 0;
  for (const auto& [track, thread] : threads) {
    std::vector<Interval> times;
    for (const HostRange& range : thread.ranges) times.push_back({range.begin, range.end});
    const uint64_t busy = Intervals(std::move(times)).length();
    if (busy > most) std::tie(found, most) = std::pair(track, busy);
  }
  return found;
}

std::vector<uint32_t> tracks_of_threads(const EventWalk& walk, const Activity& activity,
                                        const StatesOfThreads& states) {
  std::map<std::string_view, uint32_t> numbers;
  for (const std::string& key : states.keys) numbers.emplace(key, static_cast<uint32_t>(numbers.size()));
  std::vector<uint32_t> tracks(states.keys.size(), kNone);
  std::set<std::pair<trace::WriterId, uint32_t>> last;  // of the programs that a process runs
  for (const ThreadStates& one : states.threads) last.emplace(one.writer, one.track);
  const auto ranges_on = [&](uint32_t track) {
    const auto found = activity.threads.find(track);
    return found == activity.threads.end() ? 0 : found->second.ranges.size();
  };
  const auto rank = [&](const TrackOfTrace& one) {
    return std::pair(ranges_on(one.number), last.contains({one.writer->id, one.track->id}));
  };
  for (const TrackOfTrace& one : walk.tracks()) {
    if (one.on_device) continue;
    const auto thread = numbers.find(thread_key(*one.writer, *one.track));
    if (thread == numbers.end()) continue;
    uint32_t& track = tracks[thread->second];
    if (track == kNone || rank(one) > rank(walk.tracks()[track])) track = one.number;
  }
  return tracks;
}

Activity read_activity(EventWalk& walk, DeviceWork work, const Interval& window, const StatesOfThreads* states) {
  Activity activity;
  activity.window = window;
  activity.work = std::move(work);
  const HostCalls calls = HostReader(walk, activity).read();
  find_waits(walk, calls, find_starts(walk, calls, activity), states, activity);
  return activity;
}

}  // namespace kymo::analyze
