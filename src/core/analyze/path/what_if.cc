#include "analyze/path/what_if.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/innermost.h"
#include "analyze/report/known_names.h"

namespace kymo::analyze {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Times are nanoseconds since the begin of the window: exact for a hundred days, and without overflow for any trace.
class Replay {
 public:
  Replay(const EventWalk& walk, const Activity& activity, const FactorOf& factor_of)
      : walk_(walk), activity_(activity), factor_of_(factor_of) {}

  WhatIf run(uint32_t track, const std::vector<PathSegment>& path) {
    const double end = time_of(activity_.window.end);
    add_threads();
    add_operations();
    if (!changes_) return {static_cast<int64_t>(end), 0};
    const auto [new_path, on_path] = path_with_changes(path);
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.kind) < std::tie(b.time, b.kind);
    });
    for (const Event& event : events_) step(event);
    go_on(track, end);
    const double length = std::max(end + shifts_[track], new_path);
    return {std::llround(std::clamp(length, 0.0, kLongest)), std::llround(on_path)};
  }

 private:
  static constexpr double kLongest = 0x1p62;

  double time_of(int64_t ns) const {
    return static_cast<double>(
        static_cast<int64_t>(static_cast<uint64_t>(ns) - static_cast<uint64_t>(activity_.window.begin)));
  }
  double begin_of(uint32_t operation) const { return time_of(activity_.operations[operation].begin); }
  double end_of(uint32_t operation) const { return time_of(activity_.operations[operation].end); }

  // At one time, what ends comes first.
  enum class Kind : uint8_t { DeviceWaitEnd, Cause, ThreadWaitEnd, Launch, Start };
  struct Event {
    double time = 0;
    Kind kind = Kind::Start;
    uint32_t track = 0;
    uint32_t index = 0;  // of an operation, or of a cause
    const ThreadWait* wait = nullptr;
  };
  // A part of the self time of a range that is to take more or less time.
  struct Scaled {
    double begin = 0, end = 0;
    double factor = 1;
  };
  struct ScaledParts {
    std::vector<Scaled> parts;  // in order of time
    size_t next = 0;
    double done_until = kNever;
  };

  double factor(uint32_t track_number, uint32_t class_id) {
    const TrackOfTrace& track = walk_.tracks()[track_number];
    const auto [entry, is_new] = factors_.try_emplace({track.writer_number, class_id}, 1.0);
    if (is_new) {
      const trace::EventClass* const known = track.writer->find_class(class_id);
      if (known != nullptr && !is_profiler_cost(known->category, known->name)) entry->second = factor_of_(known->name);
      changes_ = changes_ || entry->second != 1.0;
    }
    return entry->second;
  }

  void add_threads() {
    causes_new_.resize(activity_.causes.size());
    for (const auto& [track, thread] : activity_.threads) {
      add_ranges(track, thread);
      for (const ThreadWait& wait : thread.waits) {
        const bool for_device = wait.kind == WaitKind::Device || wait.kind == WaitKind::Room;
        events_.push_back({time_of(wait.end), for_device ? Kind::DeviceWaitEnd : Kind::ThreadWaitEnd, track, 0, &wait});
        for (uint32_t i = wait.first_cause; i < wait.first_cause + wait.causes; ++i) {
          const Cause& cause = activity_.causes[i];
          causes_new_[i] = time_of(cause.time);
          if (cause.operation == kNone) events_.push_back({time_of(cause.time), Kind::Cause, cause.track, i, nullptr});
        }
      }
    }
  }

  // The self time of a range is scaled, and what is inside by its own factor.
  void add_ranges(uint32_t track, const ThreadActivity& thread) {
    std::vector<Scaled>& parts = scaled_[track].parts;
    const auto take = [&](uint32_t class_id, int64_t begin, int64_t end) {
      const double scale = factor(track, class_id);
      if (scale != 1.0 && begin < end) parts.push_back({time_of(begin), time_of(end), scale});
    };
    Innermost<uint32_t> innermost;
    for (const HostRange& range : thread.ranges) innermost.add(range.begin, range.end, range.class_id, take);
    innermost.finish(take);
    std::reverse(parts.begin(), parts.end());
  }

  // The new length of the path, and how much of it changes.
  std::pair<double, double> path_with_changes(const std::vector<PathSegment>& path) {
    double length = 0, on_path = 0;
    for (const PathSegment& segment : path) {
      const double begin = time_of(segment.begin), end = time_of(segment.end);
      length += end - begin;
      const auto change = [&](double part, double factor) {
        length += part * (factor - 1);
        on_path += factor == 1 ? 0 : part;
      };
      if (segment.kind == PathKind::Operation)
        change(end - begin, factor(segment.track, activity_.operations[segment.operation].class_id));
      if (segment.kind != PathKind::Host) continue;
      const std::vector<Scaled>& parts = scaled_[segment.track].parts;
      auto part = std::partition_point(parts.begin(), parts.end(), [&](const Scaled& one) { return one.end <= begin; });
      for (; part != parts.end() && part->begin < end; ++part)
        change(std::min(part->end, end) - std::max(part->begin, begin), part->factor);
    }
    return {length, on_path};
  }

  // The thread has done its work until `time`.
  void go_on(uint32_t track, double time) {
    const auto found = scaled_.find(track);
    if (found == scaled_.end()) return;
    ScaledParts& scaled = found->second;
    for (; scaled.next < scaled.parts.size() && scaled.parts[scaled.next].begin < time; ++scaled.next) {
      const Scaled& part = scaled.parts[scaled.next];
      const double from = std::max(part.begin, scaled.done_until), to = std::min(part.end, time);
      if (from < to) shifts_[track] += (to - from) * (part.factor - 1);
      if (part.end > time) break;
    }
    scaled.done_until = std::max(scaled.done_until, time);
  }

  void add_operations() {
    begins_new_.resize(activity_.operations.size());
    ends_new_.resize(activity_.operations.size());
    launched_new_.resize(activity_.operations.size(), kNever);
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      factor(activity_.operations[i].track, activity_.operations[i].class_id);
      begins_new_[i] = begin_of(i);
      ends_new_[i] = end_of(i);
      const uint32_t launch = activity_.starts[i].launch;
      if (launch != kNone) {
        const Launch& call = activity_.work.launches[launch];
        launched_new_[i] = time_of(call.begin);
        if (call.begin >= activity_.window.begin)
          events_.push_back({launched_new_[i], Kind::Launch, call.track, i, nullptr});
      }
      events_.push_back({begin_of(i), Kind::Start, activity_.operations[i].track, i, nullptr});
    }
  }

  void step(const Event& event) {
    switch (event.kind) {
      case Kind::Cause:
        go_on(event.track, event.time);
        causes_new_[event.index] = event.time + shifts_[event.track];
        break;
      case Kind::Launch:
        go_on(event.track, event.time);
        launched_new_[event.index] = event.time + shifts_[event.track];
        break;
      case Kind::Start:
        start(event.index);
        break;
      case Kind::DeviceWaitEnd:
      case Kind::ThreadWaitEnd:
        end_wait(event.track, *event.wait);
        break;
    }
  }

  void start(uint32_t index) {
    if (activity_.operations[index].begin <= activity_.window.begin) return end_operation(index);
    const OperationStart& start = activity_.starts[index];
    const double begin = begin_of(index);
    double begin_new = start.cause == StartCause::Unknown ? begin : kNever;
    const auto after = [&](uint32_t other, bool is_cause) {
      if (other == kNone) return;
      const double gap = begin - end_of(other);  // what was not the cause may be the cause now
      begin_new = std::max(begin_new, ends_new_[other] + (is_cause ? gap : std::min<double>(gap, start.gap_ns)));
    };
    after(start.before, start.cause == StartCause::Queue);
    after(start.event, start.cause == StartCause::Event);
    if (start.launch != kNone)
      begin_new = std::max(begin_new, launched_new_[index] + static_cast<double>(start.arrival_ns));
    begins_new_[index] = begin_new;
    end_operation(index);
  }

  // What a rank waits for the others in a collective does not count as its work.
  void end_operation(uint32_t index) {
    const auto end = [&](uint32_t one, double from, double from_new) {
      const DeviceOperation& operation = activity_.operations[one];
      const double in_window = std::max(from, 0.0), length = std::max(0.0, end_of(one) - in_window);
      ends_new_[one] = from_new + (in_window - from) + length * factor(operation.track, operation.class_id);
    };
    const uint32_t collective = activity_.starts[index].collective;
    if (collective == kNone) return end(index, begin_of(index), begins_new_[index]);
    const Collective& ranks = activity_.collectives[collective];
    if (ranks.last != index) return;
    double begin_new = kNever;
    for (const uint32_t member : ranks.members) begin_new = std::max(begin_new, begins_new_[member]);
    for (const uint32_t member : ranks.members) end(member, begin_of(index), begin_new);
  }

  // A wait ends after its causes, and takes at least its own time. A call that need not have waited takes its own time,
  // but may have to wait now.
  void end_wait(uint32_t track, const ThreadWait& wait) {
    double cause_new = kNever;
    for (uint32_t i = wait.first_cause; i < wait.first_cause + wait.causes; ++i) {
      const uint32_t operation = activity_.causes[i].operation;
      cause_new = std::max(cause_new, operation == kNone ? causes_new_[i] : ends_new_[operation]);
    }
    const double begin = time_of(wait.begin), end = time_of(wait.end);
    double& shift = shifts_[track];
    go_on(track, begin);
    if (activity_.waited(wait)) {
      const double lag = end - time_of(activity_.causes[wait.first_cause].time);
      shift = std::max(begin + shift + static_cast<double>(wait.own_ns), cause_new + lag) - end;
      scaled_[track].done_until = std::max(scaled_[track].done_until, end);
    } else {
      shift = std::max(shift, cause_new - begin);
      go_on(track, end);
    }
  }

  const EventWalk& walk_;
  const Activity& activity_;
  const FactorOf& factor_of_;
  std::map<std::pair<uint32_t, uint32_t>, double> factors_;  // by writer and class
  bool changes_ = false;                                     // some factor is not 1
  std::vector<Event> events_;
  std::unordered_map<uint32_t, ScaledParts> scaled_;          // by track
  std::vector<double> causes_new_;                            // by cause
  std::vector<double> begins_new_, ends_new_, launched_new_;  // by operation
  std::unordered_map<uint32_t, double> shifts_;               // by track: new time minus the time in the trace
};

}  // namespace

WhatIf what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const std::vector<PathSegment>& path,
               const FactorOf& factor_of) {
  return Replay(walk, activity, factor_of).run(track, path);
}

}  // namespace kymo::analyze
