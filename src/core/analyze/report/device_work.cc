#include "analyze/report/device_work.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <tuple>

namespace kymo::analyze {
namespace {

bool contains_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// The kind of each class of a writer, found once.
class Kinds {
 public:
  std::optional<WorkKind> of(const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = kinds_.try_emplace({track.writer_number, class_id});
    if (is_new) {
      const trace::EventClass* const known = track.writer->find_class(class_id);
      if (known != nullptr) entry->second = work_kind(known->category, known->name);
    }
    return entry->second;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::optional<WorkKind>> kinds_;
};

auto key_of(const Launch& launch) { return std::tie(launch.writer_number, launch.correlation); }

}  // namespace

std::optional<WorkKind> work_kind(std::string_view category, std::string_view name) {
  if (category == "gpu_user_annotation" || category == "device range" || category == "cuda_event") return std::nullopt;
  if (category == "cuda_sync" || category == "sync") return WorkKind::Wait;
  if (contains_word(name, "nccl") || contains_word(name, "rccl") || category == "collective_comm")
    return WorkKind::Communication;
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "copy" || category == "fill")
    return WorkKind::Copy;
  return WorkKind::Compute;
}

const Launch* DeviceWork::launch_of(const EventWalk& walk, const DeviceOperation& operation) const {
  if (operation.correlation == 0) return nullptr;
  Launch wanted;
  wanted.writer_number = walk.tracks()[operation.track].writer_number;
  wanted.correlation = operation.correlation;
  const auto at = std::lower_bound(launches.begin(), launches.end(), wanted,
                                   [](const Launch& a, const Launch& b) { return key_of(a) < key_of(b); });
  return at != launches.end() && key_of(*at) == key_of(wanted) ? &*at : nullptr;
}

std::optional<uint32_t> launching_track(const DeviceWork& work) {
  std::map<uint32_t, size_t> counts;
  for (const Launch& launch : work.launches) ++counts[launch.track];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

DeviceWork read_device_work(EventWalk& walk) {
  DeviceWork work;
  std::map<std::string, uint32_t> numbers;
  std::vector<uint32_t> device_of(walk.tracks().size());
  bool any = false;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!track.on_device) continue;
    any = true;
    const auto [entry, is_new] =
        numbers.try_emplace(track.track->device_uuid, static_cast<uint32_t>(work.devices.size()));
    if (is_new) work.devices.push_back({track.track->device().empty() ? "device" : track.track->device(), {}});
    device_of[track.number] = entry->second;
  }
  if (!any) return work;

  Kinds kinds;
  size_t count = 0;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations, [](const TrackOfTrace&) { return true; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const trace::Ranges& ranges = batch.ranges;
        if (!track.on_device && ranges.correlation.empty()) return;
        for (size_t i = 0; i < ranges.size(); ++i) {
          const uint64_t correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
          if (!track.on_device && correlation == 0) continue;
          const int64_t begin = track.ns(ranges.end[i] - ranges.duration[i]), end = track.ns(ranges.end[i]);
          if (!track.on_device) {
            if (work.launches.size() < DeviceWork::kMostOperations)
              work.launches.push_back({track.writer_number, track.number, correlation, begin, end});
            continue;
          }
          const auto kind = kinds.of(track, ranges.class_id[i]);
          if (!kind) continue;
          if (++count > DeviceWork::kMostOperations) {
            ++work.left_out;
            continue;
          }
          work.devices[device_of[track.number]].operations.push_back(
              {begin, end, correlation, track.number, ranges.class_id[i], *kind});
        }
      });
  for (Device& device : work.devices) {
    std::sort(device.operations.begin(), device.operations.end(),
              [](const DeviceOperation& a, const DeviceOperation& b) { return a.begin < b.begin; });
  }
  std::erase_if(work.devices, [](const Device& device) { return device.operations.empty(); });
  // If several calls have one correlation, the innermost is the launch: it begins last.
  std::sort(work.launches.begin(), work.launches.end(), [](const Launch& a, const Launch& b) {
    return key_of(a) != key_of(b) ? key_of(a) < key_of(b) : a.begin > b.begin;
  });
  return work;
}

namespace {

Intervals times_of(const Device& device, WorkKind kind) {
  std::vector<Interval> all;
  for (const DeviceOperation& operation : device.operations)
    if (operation.kind == kind) all.push_back({operation.begin, operation.end});
  return Intervals(std::move(all));
}

// Divides a gap of the device, in front of `next`.
class GapDivider {
 public:
  GapDivider(const EventWalk& walk, const DeviceWork& work, const Intervals& waits, DeviceTime& time)
      : walk_(walk), work_(work), waits_(waits), time_(time) {}

  void divide(const Interval& gap, const DeviceOperation* next) {
    if (next == nullptr) return add(IdleCause::NothingLeft, gap);
    const Launch* const launch = work_.launch_of(walk_, *next);
    if (launch == nullptr) return add(IdleCause::Unknown, gap);
    const int64_t launched = std::clamp(launch->begin, gap.begin, gap.end);
    if (launched > gap.begin) {
      add(IdleCause::LateLaunch, {gap.begin, launched});
      time_.late[launch->track].push_back({gap.begin, launched});
    }
    const Interval rest{launched, gap.end};
    if (launch->end >= gap.begin) return add(IdleCause::LaunchLatency, rest);
    const uint64_t waiting = waits_.covered(rest.begin, rest.end);
    time_.idle_ns[static_cast<size_t>(IdleCause::Waiting)] += waiting;
    time_.idle_ns[static_cast<size_t>(IdleCause::Queued)] += static_cast<uint64_t>(rest.end - rest.begin) - waiting;
  }

 private:
  void add(IdleCause cause, const Interval& part) {
    time_.idle_ns[static_cast<size_t>(cause)] += static_cast<uint64_t>(part.end - part.begin);
  }

  const EventWalk& walk_;
  const DeviceWork& work_;
  const Intervals& waits_;
  DeviceTime& time_;
};

// How many operations were launched and not finished, over the window.
void count_outstanding(const EventWalk& walk, const DeviceWork& work, const Device& device, DeviceTime& time) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const DeviceOperation& operation : device.operations) {
    const Launch* const launch = work.launch_of(walk, operation);
    if (launch == nullptr || operation.kind == WorkKind::Wait) continue;
    changes.emplace_back(std::min(launch->begin, operation.begin), 1);
    changes.emplace_back(operation.end, -1);
  }
  std::sort(changes.begin(), changes.end());
  int64_t outstanding = 0;
  double area = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (i > 0) area += static_cast<double>(outstanding) * static_cast<double>(changes[i].first - changes[i - 1].first);
    outstanding += changes[i].second;
    time.most_outstanding = std::max(time.most_outstanding, static_cast<uint64_t>(std::max<int64_t>(outstanding, 0)));
  }
  if (changes.size() > 1 && changes.back().first > changes.front().first)
    time.mean_outstanding = area / static_cast<double>(changes.back().first - changes.front().first);
}

}  // namespace

std::string_view text_of(WorkKind kind) {
  constexpr std::string_view kTexts[] = {"compute", "communication", "copy", "wait"};
  return kTexts[static_cast<size_t>(kind)];
}

std::string_view text_of(IdleCause cause) {
  switch (cause) {
    case IdleCause::LateLaunch:
      return "launch came late";
    case IdleCause::LaunchLatency:
      return "launch latency";
    case IdleCause::Waiting:
      return "waiting for an event";
    case IdleCause::Queued:
      return "queued, not started";
    case IdleCause::NothingLeft:
      return "nothing submitted";
    case IdleCause::Unknown:
      return "unknown: the launch is not in the trace";
  }
  return "";
}

uint64_t DeviceTime::idle_total_ns() const { return std::accumulate(idle_ns.begin(), idle_ns.end(), uint64_t{0}); }

DeviceTime device_time(const EventWalk& walk, const DeviceWork& work, const Device& device, const Intervals& window) {
  DeviceTime time;
  const Intervals compute = times_of(device, WorkKind::Compute), waits = times_of(device, WorkKind::Wait);
  const Intervals communication = times_of(device, WorkKind::Communication), copies = times_of(device, WorkKind::Copy);
  const Intervals active = united(compute, communication), busy = united(active, copies);
  time.window_ns = window.length();
  time.busy_outside_ns = difference(busy, window).length();
  time.compute_ns = intersection(compute, window).length();
  time.communication_ns = intersection(communication, window).length();
  time.copies_ns = intersection(copies, window).length();
  time.exposed_communication_ns = intersection(difference(communication, compute), window).length();
  time.exposed_copies_ns = intersection(difference(copies, active), window).length();

  GapDivider divider(walk, work, waits, time);
  auto next = device.operations.begin();
  const Intervals idle = difference(window, busy);
  for (const Interval& gap : idle.all()) {
    while (next != device.operations.end() && (next->begin < gap.end || next->kind == WorkKind::Wait)) ++next;
    divider.divide(gap, next == device.operations.end() ? nullptr : &*next);
  }
  for (const DeviceOperation& operation : device.operations)
    if (operation.kind != WorkKind::Wait && window.covered(operation.begin, operation.end) > 0) ++time.operations;
  count_outstanding(walk, work, device, time);
  return time;
}

}  // namespace kymo::analyze
