#include "analyze/path/what_if.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyze/innermost.h"
#include "analyze/path/activity.h"

namespace kymo::analyze {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Times are nanoseconds since the begin of the window: exact for a hundred days, and without overflow for any trace.
class Replay {
 public:
  Replay(const EventWalk& walk, const Activity& activity, const FactorOf& factor_of)
      : walk_(walk), activity_(activity), factor_of_(factor_of), wait_targets_(walk, activity) {}

  int64_t run(uint32_t track) {
    add_threads();
    add_operations();
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.kind) < std::tie(b.time, b.kind);
    });
    for (const Event& event : events_) step(event);
    const double end = time_of(activity_.window.end);
    go_on(track, end);
    return std::llround(std::clamp(end + shifts_[track], 0.0, kLongest));
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
  enum class Kind : uint8_t { WaitEnd, Send, Receive, Launch, Start };
  struct Event {
    double time = 0;
    Kind kind = Kind::WaitEnd;
    uint32_t track = 0;
    uint32_t index = 0;  // of an operation, or of a message
    const DeviceWait* wait = nullptr;
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
  struct Message {
    double sent = 0;
    double sent_new = 0;
    std::optional<double> idle_since;  // of the receiver, if it waited for the message; kNever: it did nothing before
  };

  double factor(uint32_t track_number, uint32_t class_id) {
    const TrackOfTrace& track = walk_.tracks()[track_number];
    const auto [entry, is_new] = factors_.try_emplace({track.writer_number, class_id}, 1.0);
    if (is_new) {
      const trace::EventClass* const known = track.writer->find_class(class_id);
      if (known != nullptr) entry->second = factor_of_(known->name);
    }
    return entry->second;
  }

  void add_threads() {
    for (const auto& [track, thread] : activity_.threads) {
      add_ranges(track, thread);
      for (const DeviceWait& wait : thread.waits)
        events_.push_back({time_of(wait.end), Kind::WaitEnd, track, 0, &wait});
      for (const Handover& one : thread.handovers) {
        // The thread waited if it did nothing from the send on. Then what it does with the message begins later.
        const int64_t since = thread.busy_since(one.time), idle_since = thread.idle_since(since);
        const bool waited = one.sent <= since && idle_since <= one.sent;
        const auto index = static_cast<uint32_t>(messages_.size());
        const double sent = time_of(one.sent);
        messages_.push_back({sent, sent, std::nullopt});
        if (waited) messages_.back().idle_since = idle_since == INT64_MIN ? kNever : time_of(idle_since);
        events_.push_back({sent, Kind::Send, one.from_track, index, nullptr});
        events_.push_back({time_of(waited ? since : one.time), Kind::Receive, track, index, nullptr});
      }
    }
  }

  // The self time of a range is scaled, and what is inside by its own factor.
  void add_ranges(uint32_t track, const ThreadActivity& thread) {
    const std::vector<HostRange>& ranges = thread.ranges;
    std::vector<uint32_t> order(ranges.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ranges[a].end > ranges[b].end; });
    std::vector<Scaled>& parts = scaled_[track].parts;
    const auto take = [&](uint32_t i, int64_t begin, int64_t end) {
      const double scale = factor(track, ranges[i].class_id);
      begin = std::max(begin, activity_.window.begin);
      end = std::min(end, activity_.window.end);
      if (scale != 1.0 && begin < end) parts.push_back({time_of(begin), time_of(end), scale});
    };
    Innermost<uint32_t> innermost;
    for (const uint32_t i : order) innermost.add(ranges[i].begin, ranges[i].end, i, take);
    innermost.finish(take);
    std::reverse(parts.begin(), parts.end());
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
    ends_new_.resize(activity_.operations.size());
    launched_new_.resize(activity_.operations.size(), kNever);
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      const DeviceOperation& operation = activity_.operations[i];
      ends_new_[i] = end_of(i);
      if (const Launch* const launch = activity_.work.launch_of(walk_, operation))
        events_.push_back({time_of(launch->begin), Kind::Launch, launch->track, i, nullptr});
      events_.push_back({begin_of(i), Kind::Start, operation.track, i, nullptr});
    }
  }

  void step(const Event& event) {
    if (event.kind != Kind::Start) go_on(event.track, event.time);
    switch (event.kind) {
      case Kind::Send:
        messages_[event.index].sent_new = messages_[event.index].sent + shifts_[event.track];
        break;
      case Kind::Receive:
        receive(event);
        break;
      case Kind::Launch:
        launched_new_[event.index] = event.time + shifts_[event.track];
        break;
      case Kind::Start:
        start(event.index);
        break;
      case Kind::WaitEnd:
        end_wait(event);
        break;
    }
  }

  // A thread that waited moves with the sender, unless its own work before takes longer now. Another one had the
  // message already; it must still not be ahead of it.
  void receive(const Event& event) {
    const Message& message = messages_[event.index];
    double& shift = shifts_[event.track];
    if (!message.idle_since) {
      shift = std::max(shift, message.sent_new - event.time);
      return;
    }
    shift = std::max(message.sent_new - message.sent, *message.idle_since + shift - event.time);
  }

  void start(uint32_t index) {
    const DeviceOperation& operation = activity_.operations[index];
    const std::vector<uint32_t>& queue = activity_.queues.at(operation.track).operations;
    const auto at = std::lower_bound(queue.begin(), queue.end(), index);
    double begin = begin_of(index);
    const Launch* const launch = activity_.work.launch_of(walk_, operation);
    const bool has_before = at != queue.begin() && activity_.operations[*std::prev(at)].end <= operation.begin;
    const double free = has_before ? end_of(*std::prev(at)) : kNever;
    const double free_new = has_before ? ends_new_[*std::prev(at)] : kNever;
    if (launch != nullptr && launched_new_[index] != kNever) {
      const double launched = time_of(launch->begin);
      if (!has_before || launched >= free) {
        begin = std::max(launched_new_[index] + (begin - launched), free_new);
      } else {
        const double call = std::max(0.0, std::min(time_of(launch->end), begin) - launched);
        begin = std::max(free_new + (begin - free), launched_new_[index] + call);
      }
    } else if (has_before) {
      begin = free_new + (begin - free);
    }
    const double length = std::max(0.0, end_of(index) - begin_of(index));
    ends_new_[index] = begin + length * factor(operation.track, operation.class_id);
  }

  // The call returns after the last operation of each queue that it waits for. If they had ended before the call, it
  // takes its own time, but may have to wait now.
  void end_wait(const Event& event) {
    const DeviceWait& wait = *event.wait;
    const std::vector<uint32_t> targets = wait_targets_.of(event.track, wait);
    if (targets.empty()) return;
    double end_new = kNever;
    for (const uint32_t target : targets) end_new = std::max(end_new, ends_new_[target]);
    const double begin = time_of(wait.begin), end = event.time, done = end_of(targets.front());
    double& shift = shifts_[event.track];
    if (done >= begin)
      shift = std::max(begin + shift, end_new + (end - done)) - end;
    else
      shift = std::max(begin + shift, end_new) - begin;
  }

  const EventWalk& walk_;
  const Activity& activity_;
  const FactorOf& factor_of_;
  const WaitTargets wait_targets_;
  std::map<std::pair<uint32_t, uint32_t>, double> factors_;  // by writer and class
  std::vector<Event> events_;
  std::unordered_map<uint32_t, ScaledParts> scaled_;  // by track
  std::vector<Message> messages_;
  std::vector<double> ends_new_, launched_new_;  // by operation
  std::unordered_map<uint32_t, double> shifts_;  // by track: new time minus the time in the trace
};

}  // namespace

int64_t what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const FactorOf& factor_of) {
  return Replay(walk, activity, factor_of).run(track);
}

}  // namespace kymo::analyze
