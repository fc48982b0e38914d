#include "analyze/path/path.h"

#include <algorithm>

namespace kymo::analyze {
namespace {

class Follower {
 public:
  explicit Follower(const Activity& activity) : activity_(activity) {}

  std::vector<PathSegment> follow(uint32_t track) {
    time_ = activity_.window.end;
    track_ = track;
    while (time_ > activity_.window.begin) on_thread();
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }

 private:
  static constexpr int kMostJumps = 64;  // at one time: threads of a trace may wait for each other

  // The path goes back from time_ to `begin`. Nothing is added if that is not before time_.
  void add(int64_t begin, PathKind kind, uint32_t track, uint32_t operation = kNone) {
    begin = std::max(begin, activity_.window.begin);
    if (begin >= time_) return;
    segments_.push_back({begin, time_, kind, track, operation});
    time_ = begin;
    jumps_ = 0;
  }

  void on_thread() {
    const ThreadWait* const wait = last_wait();
    if (wait == nullptr) return add(activity_.window.begin, PathKind::Host, track_);
    add(wait->end, PathKind::Host, track_);
    if (++jumps_ > kMostJumps) return add(wait->begin, PathKind::Host, track_);
    const Cause& cause = activity_.causes[wait->first_cause];
    if (cause.operation != kNone) {
      add(cause.time, PathKind::AfterDevice, track_);
      return on_device(cause.operation);
    }
    add(cause.time, PathKind::Handover, track_);
    track_ = cause.track;
  }

  void on_device(uint32_t operation) {
    while (time_ > activity_.window.begin) {
      const uint32_t collective = activity_.starts[operation].collective;
      if (collective != kNone) {
        const uint32_t last = activity_.collectives[collective].last;
        add(activity_.operations[last].begin, PathKind::Operation, activity_.operations[operation].track, operation);
        operation = last;
      }
      const DeviceOperation& one = activity_.operations[operation];
      const OperationStart& start = activity_.starts[operation];
      add(one.begin, PathKind::Operation, one.track, operation);
      add(one.begin - start.unknown_ns, start.waits_for_event ? PathKind::EventWait : PathKind::Queued, one.track);
      switch (start.cause) {
        case StartCause::Launch: {
          const Launch& launch = activity_.work.launches[start.launch];
          add(launch.begin, PathKind::LaunchLatency, one.track);
          track_ = launch.track;
          return;
        }
        case StartCause::Queue:
          add(activity_.operations[start.before].end, PathKind::QueueWait, one.track);
          operation = start.before;
          break;
        case StartCause::Event:
          add(activity_.operations[start.event].end, PathKind::EventWait, one.track);
          operation = start.event;
          break;
        case StartCause::Unknown:
          return add(activity_.window.begin, PathKind::QueueWait, one.track);
      }
    }
  }

  // The last wait that has ended at time_, and was one.
  const ThreadWait* last_wait() const {
    const auto found = activity_.threads.find(track_);
    if (found == activity_.threads.end()) return nullptr;
    const std::vector<ThreadWait>& waits = found->second.waits;
    auto after =
        std::partition_point(waits.begin(), waits.end(), [&](const ThreadWait& wait) { return wait.end <= time_; });
    while (after != waits.begin())
      if (--after; activity_.waited(*after)) return &*after;
    return nullptr;
  }

  const Activity& activity_;
  std::vector<PathSegment> segments_;
  int64_t time_ = 0;
  uint32_t track_ = 0;
  int jumps_ = 0;
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
    case PathKind::EventWait:
      return "waiting for another queue";
    case PathKind::Queued:
      return text_of(IdleCause::Queued);
    case PathKind::Handover:
      return "handover to another thread";
    case PathKind::AfterDevice:
      return "return from the device";
  }
  return "";
}

std::vector<PathSegment> critical_path(const Activity& activity, uint32_t track) {
  return Follower(activity).follow(track);
}

}  // namespace kymo::analyze
