#include "analyze/path/activity.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace kymo::analyze {
namespace {

struct FlowPoint {
  uint32_t writer, track;
  uint64_t id;
  int64_t time;
  bool is_end;
};

void find_handovers(std::vector<FlowPoint>& points, Activity& activity) {
  std::stable_sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::tie(a.writer, a.id, a.time) < std::tie(b.writer, b.id, b.time);
  });
  for (size_t i = 1; i < points.size(); ++i) {
    const FlowPoint &sent = points[i - 1], &here = points[i];
    if (!here.is_end || sent.writer != here.writer || sent.id != here.id || sent.track == here.track) continue;
    activity.threads[here.track].handovers.push_back({here.time, sent.track, sent.time});
  }
  for (auto& [track, thread] : activity.threads)
    std::sort(thread.handovers.begin(), thread.handovers.end(),
              [](const Handover& a, const Handover& b) { return a.time < b.time; });
}

// The operations of one collective: the same name, and the same number among those of its writer.
void find_peers(const EventWalk& walk, Activity& activity) {
  std::map<std::pair<std::string, uint32_t>, std::vector<uint32_t>> collectives;
  std::map<std::pair<uint32_t, std::string>, uint32_t> counts;
  activity.peers.resize(activity.operations.size());
  for (uint32_t i = 0; i < activity.operations.size(); ++i) {
    activity.peers[i] = i;
    const DeviceOperation& operation = activity.operations[i];
    if (operation.kind != WorkKind::Communication) continue;
    const TrackOfTrace& track = walk.tracks()[operation.track];
    const trace::EventClass* const known = track.writer->find_class(operation.class_id);
    const std::string name = known == nullptr ? std::string() : known->name;
    collectives[{name, counts[{track.writer_number, name}]++}].push_back(i);
  }
  for (const auto& [key, members] : collectives) {
    const uint32_t last = *std::max_element(members.begin(), members.end(), [&](uint32_t a, uint32_t b) {
      return activity.operations[a].begin < activity.operations[b].begin;
    });
    for (const uint32_t member : members)
      if (activity.operations[last].begin < activity.operations[member].end) activity.peers[member] = last;
  }
}

}  // namespace

bool is_device_wait(std::string_view category, std::string_view name) {
  if (name.find("Synchronize") != std::string_view::npos || name.find("synchronize") != std::string_view::npos)
    return true;
  return category == "device" && name.starts_with("wait");
}

bool waits_for_whole_device(std::string_view name) {
  for (const std::string_view part : {"Stream", "stream", "Event", "event"})
    if (name.find(part) != std::string_view::npos) return false;
  return true;
}

std::vector<Interval> busy_times(const std::vector<HostRange>& ranges, const Interval& window) {
  std::vector<Interval> busy;
  for (const HostRange& range : ranges) {
    if (range.begin <= window.begin && range.end >= window.end) continue;
    if (!busy.empty() && range.begin < busy.back().end)
      busy.back().end = std::max(busy.back().end, range.end);
    else
      busy.push_back({range.begin, range.end});
  }
  return busy;
}

int64_t ThreadActivity::busy_since(int64_t time) const {
  const auto after =
      std::partition_point(busy.begin(), busy.end(), [&](const Interval& one) { return one.begin <= time; });
  return after != busy.begin() && std::prev(after)->end >= time ? std::prev(after)->begin : time;
}

int64_t ThreadActivity::idle_since(int64_t time) const {
  const auto after =
      std::partition_point(busy.begin(), busy.end(), [&](const Interval& one) { return one.begin < time; });
  return after == busy.begin() ? INT64_MIN : std::prev(after)->end;
}

Activity read_activity(EventWalk& walk, DeviceWork work, const Interval& window) {
  Activity activity;
  activity.window = window;
  const auto overlaps = [&](int64_t begin, int64_t end) { return begin < window.end && end > window.begin; };
  for (const Device& device : work.devices)
    for (const DeviceOperation& operation : device.operations)
      if (operation.kind != WorkKind::Wait && overlaps(operation.begin, operation.end))
        activity.operations.push_back(operation);
  std::sort(activity.operations.begin(), activity.operations.end(),
            [](const DeviceOperation& a, const DeviceOperation& b) {
              return std::tie(a.begin, a.end, a.track) < std::tie(b.begin, b.end, b.track);
            });
  for (uint32_t i = 0; i < activity.operations.size(); ++i)
    activity.queues[activity.operations[i].track].operations.push_back(i);
  find_peers(walk, activity);

  std::vector<FlowPoint> flows;
  size_t count = 0;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kPoints | trace::kOpenStacks,
      [](const TrackOfTrace& track) { return !track.on_device; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        ThreadActivity& thread = activity.threads[track.number];
        const trace::Ranges& ranges = batch.ranges;
        for (size_t i = 0; i < ranges.size(); ++i) {
          const int64_t begin = track.ns(ranges.end[i] - ranges.duration[i]), end = track.ns(ranges.end[i]);
          if (!overlaps(begin, end)) continue;
          if (++count > Activity::kMostRanges) {
            ++activity.left_out;
            continue;
          }
          const uint16_t lane = ranges.lane.empty() ? uint16_t{0} : ranges.lane[i];
          thread.ranges.push_back({begin, end, ranges.class_id[i], lane, ranges.depth[i]});
          const trace::EventClass* const known = track.writer->find_class(ranges.class_id[i]);
          if (known != nullptr && is_device_wait(known->category, known->name))
            thread.waits.push_back({begin, end, waits_for_whole_device(known->name)});
        }
        for (size_t i = 0; i < batch.points.size(); ++i) {
          const trace::PointKind kind = batch.points.kind[i];
          const bool is_end = kind == trace::PointKind::FlowEnd || kind == trace::PointKind::FlowStep;
          if (!is_end && kind != trace::PointKind::FlowBegin) continue;
          const int64_t time = track.ns(batch.points.time[i]);
          if (time < window.begin || time > window.end || flows.size() >= Activity::kMostRanges) continue;
          flows.push_back({track.writer_number, track.number, batch.points.id[i], time, is_end});
        }
      });
  for (auto& [track, thread] : activity.threads) {
    std::sort(thread.ranges.begin(), thread.ranges.end(), [](const HostRange& a, const HostRange& b) {
      return std::tie(a.begin, b.end, a.lane, a.depth) < std::tie(b.begin, a.end, b.lane, b.depth);
    });
    thread.busy = busy_times(thread.ranges, window);
    std::sort(thread.waits.begin(), thread.waits.end(),
              [](const DeviceWait& a, const DeviceWait& b) { return a.begin < b.begin; });
  }
  find_handovers(flows, activity);
  activity.work = std::move(work);
  return activity;
}

WaitTargets::WaitTargets(const EventWalk& walk, const Activity& activity) : walk_(walk), activity_(activity) {
  for (const auto& [track, queue] : activity.queues) {
    const TrackOfTrace& of = walk.tracks()[track];
    Queue& made = queues_.emplace_back(Queue{of.writer_number, &of.track->device_uuid, queue.operations});
    std::stable_sort(made.by_end.begin(), made.by_end.end(),
                     [&](uint32_t a, uint32_t b) { return activity.operations[a].end < activity.operations[b].end; });
  }
}

// The last operation that was launched before the call and ended before its end.
uint32_t WaitTargets::last_before(const Queue& queue, const DeviceWait& wait) const {
  auto after = std::partition_point(queue.by_end.begin(), queue.by_end.end(),
                                    [&](uint32_t i) { return activity_.operations[i].end <= wait.end; });
  while (after != queue.by_end.begin()) {
    const DeviceOperation& operation = activity_.operations[*--after];
    const Launch* const launch = activity_.work.launch_of(walk_, operation);
    if (operation.begin < wait.end && (launch == nullptr || launch->begin < wait.begin)) return *after;
  }
  return UINT32_MAX;
}

std::vector<uint32_t> WaitTargets::of(uint32_t track, const DeviceWait& wait) const {
  struct Last {
    uint32_t operation;
    const Queue* queue;
  };
  std::vector<Last> all;
  for (const Queue& queue : queues_) {
    if (queue.writer_number != walk_.tracks()[track].writer_number) continue;
    if (const uint32_t last = last_before(queue, wait); last != UINT32_MAX) all.push_back({last, &queue});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Last& a, const Last& b) {
    return activity_.operations[a.operation].end > activity_.operations[b.operation].end;
  });
  if (all.empty()) return {};
  const Last first = all.front();
  const auto is_other = [&](const Last& one) {
    return wait.whole_device ? *one.queue->device != *first.queue->device : one.queue != first.queue;
  };
  const bool waited = activity_.operations[first.operation].end >= wait.begin;
  if (!waited && std::any_of(all.begin(), all.end(), is_other)) return {};
  std::erase_if(all, is_other);
  std::vector<uint32_t> operations;
  for (const Last& one : all) operations.push_back(one.operation);
  return operations;
}

}  // namespace kymo::analyze
