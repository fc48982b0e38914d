#include "analyze/path/path.h"

#include <algorithm>

#include "analyze/path/activity.h"

namespace kymo::analyze {
namespace {

class Follower {
 public:
  Follower(const EventWalk& walk, const Activity& activity)
      : walk_(walk), activity_(activity), wait_targets_(walk, activity) {}

  std::vector<PathSegment> follow(uint32_t track) {
    time_ = activity_.window.end;
    track_ = track;
    while (time_ > activity_.window.begin) on_thread();
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  // The path goes back from time_ to `begin`. Nothing is added if that is not before time_.
  void add(int64_t begin, PathKind kind, uint32_t track, uint32_t operation = UINT32_MAX) {
    begin = std::max(begin, activity_.window.begin);
    if (begin >= time_) return;
    segments_.push_back({begin, time_, kind, track, operation});
    time_ = begin;
  }

  void on_thread() {
    const auto found = activity_.threads.find(track_);
    if (found == activity_.threads.end()) return add(activity_.window.begin, PathKind::Host, track_);
    const ThreadActivity& thread = found->second;
    const DeviceWait* const wait = last_wait(thread);
    const Handover* const handover = last_handover(thread);
    if (handover != nullptr && (wait == nullptr || handover->time > wait->end)) {
      add(thread.busy_since(handover->time), PathKind::Host, track_);
      add(handover->sent, PathKind::Handover, track_);
      track_ = handover->from_track;
      return;
    }
    if (wait == nullptr) return add(activity_.window.begin, PathKind::Host, track_);
    add(std::min(wait->end, time_), PathKind::Host, track_);
    const std::vector<uint32_t> targets = wait_targets_.of(track_, {wait->begin, time_, wait->whole_device});
    if (targets.empty() || activity_.operations[targets.front()].end < wait->begin) {  // it waited for nothing
      add(wait->begin, PathKind::Host, track_);
      return;
    }
    add(activity_.operations[targets.front()].end, PathKind::AfterDevice, track_);
    on_device(targets.front());
  }

  void on_device(uint32_t operation) {
    while (time_ > activity_.window.begin) {
      const DeviceOperation* one = &activity_.operations[operation];
      const uint32_t peer = activity_.peers[operation];
      if (peer != operation && activity_.operations[peer].begin > one->begin &&
          activity_.operations[peer].begin < time_) {
        add(activity_.operations[peer].begin, PathKind::Operation, one->track, operation);
        operation = peer;
        one = &activity_.operations[peer];
      } else {
        add(one->begin, PathKind::Operation, one->track, operation);
      }
      const Launch* const launch = activity_.work.launch_of(walk_, *one);
      const uint32_t before = operation_before(operation);
      const int64_t free = before == UINT32_MAX ? INT64_MIN : std::min(activity_.operations[before].end, time_);
      if (launch != nullptr && launch->begin < time_ && launch->begin >= free) {
        add(launch->begin, PathKind::LaunchLatency, one->track);
        track_ = launch->track;
        return;
      }
      if (before == UINT32_MAX) {
        if (launch != nullptr && launch->begin < time_) {
          add(launch->begin, PathKind::LaunchLatency, one->track);
          track_ = launch->track;
          return;
        }
        return add(activity_.window.begin, PathKind::QueueWait, one->track);
      }
      add(free, PathKind::QueueWait, one->track);
      operation = before;
    }
  }

  // The last wait that begins before time_.
  const DeviceWait* last_wait(const ThreadActivity& thread) const {
    const auto after = std::partition_point(thread.waits.begin(), thread.waits.end(),
                                            [&](const DeviceWait& wait) { return wait.begin < time_; });
    return after == thread.waits.begin() ? nullptr : &*std::prev(after);
  }

  // The last one whose sender sent while this thread was idle.
  const Handover* last_handover(const ThreadActivity& thread) const {
    auto after = std::partition_point(thread.handovers.begin(), thread.handovers.end(),
                                      [&](const Handover& one) { return one.time <= time_; });
    while (after != thread.handovers.begin()) {
      const Handover& one = *--after;
      const int64_t since = thread.busy_since(one.time);
      if (since < time_ && one.sent <= since && thread.idle_since(since) <= one.sent) return &one;
    }
    return nullptr;
  }

  uint32_t operation_before(uint32_t operation) const {
    const DeviceOperation& one = activity_.operations[operation];
    const std::vector<uint32_t>& queue = activity_.queues.at(one.track).operations;
    const auto at = std::lower_bound(queue.begin(), queue.end(), operation);
    return at == queue.begin() ? UINT32_MAX : *std::prev(at);
  }

  const EventWalk& walk_;
  const Activity& activity_;
  const WaitTargets wait_targets_;
  std::vector<PathSegment> segments_;
  int64_t time_ = 0;
  uint32_t track_ = 0;
};

}  // namespace

std::string_view text_of(PathKind kind) {
  switch (kind) {
    case PathKind::Host:
      return "thread";
    case PathKind::Operation:
      return "device";
    case PathKind::LaunchLatency:
      return "launch latency";
    case PathKind::QueueWait:
      return "waiting in the queue";
    case PathKind::Handover:
      return "handover to another thread";
    case PathKind::AfterDevice:
      return "return from the device";
  }
  return "";
}

std::vector<PathSegment> critical_path(const EventWalk& walk, const Activity& activity, uint32_t track) {
  return Follower(walk, activity).follow(track);
}

}  // namespace kymo::analyze
