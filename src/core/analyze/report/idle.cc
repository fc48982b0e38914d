#include "analyze/report/idle.h"

#include <algorithm>
#include <numeric>

namespace kymo::analyze {
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
