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
#include "analyze/path/wait_targets.h"

namespace kymo::analyze {
namespace {

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
    go_on(track, activity_.window.end);
    return activity_.window.end - activity_.window.begin + shifts_[track];
  }

 private:
  // At one time, what ends comes first.
  enum class Kind : uint8_t { WaitEnd, Send, Receive, Launch, Start };
  struct Event {
    int64_t time = 0;
    Kind kind = Kind::WaitEnd;
    uint32_t track = 0;
    uint32_t index = 0;  // of an operation, or of a message
    const DeviceWait* wait = nullptr;
  };
  // A part of the self time of a range that is to take more or less time.
  struct Scaled {
    int64_t begin = 0, end = 0;
    double factor = 1;
  };
  struct ScaledParts {
    std::vector<Scaled> parts;  // in order of time
    size_t next = 0;
    int64_t done_until = std::numeric_limits<int64_t>::min();
    double rest = 0;  // of a nanosecond
  };
  struct Message {
    int64_t sent = 0;
    int64_t sent_new = 0;
    std::optional<int64_t> idle_since;  // of the receiver, if it waited for the message
  };

  double factor(uint32_t track_number, uint32_t class_id) {
    const TrackOfTrace& track = walk_.tracks()[track_number];
    const auto [entry, is_new] = factors_.try_emplace({track.writer_number, class_id}, 1.0);
    if (is_new) {
      const auto known = track.writer->classes.find(class_id);
      if (known != track.writer->classes.end()) entry->second = factor_of_(known->second.name);
    }
    return entry->second;
  }

  void add_threads() {
    for (const auto& [track, thread] : activity_.threads) {
      add_ranges(track, thread);
      for (const DeviceWait& wait : thread.waits) events_.push_back({wait.end, Kind::WaitEnd, track, 0, &wait});
      for (const Handover& one : thread.handovers) {
        // The thread waited if it did nothing from the send on. Then what it does with the message begins later.
        const int64_t since = thread.busy_since(one.time), idle_since = thread.idle_since(since);
        const bool waited = one.sent <= since && idle_since <= one.sent;
        const auto index = static_cast<uint32_t>(messages_.size());
        messages_.push_back({one.sent, one.sent, waited ? std::optional(idle_since) : std::nullopt});
        events_.push_back({one.sent, Kind::Send, one.from_track, index, nullptr});
        events_.push_back({waited ? since : one.time, Kind::Receive, track, index, nullptr});
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
      if (scale != 1.0 && begin < end) parts.push_back({begin, end, scale});
    };
    Innermost<uint32_t> innermost;
    for (const uint32_t i : order) innermost.add(ranges[i].begin, ranges[i].end, i, take);
    innermost.finish(take);
    std::reverse(parts.begin(), parts.end());
  }

  // The thread has done its work until `time`.
  void go_on(uint32_t track, int64_t time) {
    const auto found = scaled_.find(track);
    if (found == scaled_.end()) return;
    ScaledParts& scaled = found->second;
    for (; scaled.next < scaled.parts.size() && scaled.parts[scaled.next].begin < time; ++scaled.next) {
      const Scaled& part = scaled.parts[scaled.next];
      const int64_t from = std::max(part.begin, scaled.done_until), to = std::min(part.end, time);
      if (from < to) scaled.rest += static_cast<double>(to - from) * (part.factor - 1);
      if (part.end > time) break;
    }
    scaled.done_until = std::max(scaled.done_until, time);
    const double whole = std::nearbyint(scaled.rest);
    scaled.rest -= whole;
    shifts_[track] += static_cast<int64_t>(whole);
  }

  void add_operations() {
    ends_new_.resize(activity_.operations.size());
    launched_new_.resize(activity_.operations.size(), INT64_MIN);
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      const DeviceOperation& operation = activity_.operations[i];
      ends_new_[i] = operation.end;
      if (const Launch* const launch = activity_.work.launch_of(walk_, operation))
        events_.push_back({launch->begin, Kind::Launch, launch->track, i, nullptr});
      events_.push_back({operation.begin, Kind::Start, operation.track, i, nullptr});
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
    int64_t& shift = shifts_[event.track];
    if (!message.idle_since) {
      shift = std::max(shift, message.sent_new - event.time);
      return;
    }
    const int64_t moved = message.sent_new - message.sent;
    const bool had_work = *message.idle_since != INT64_MIN;
    shift = had_work ? std::max(moved, *message.idle_since + shift - event.time) : moved;
  }

  void start(uint32_t index) {
    const DeviceOperation& operation = activity_.operations[index];
    const std::vector<uint32_t>& queue = activity_.queues.at(operation.track).operations;
    const auto at = std::lower_bound(queue.begin(), queue.end(), index);
    int64_t begin = operation.begin;
    const Launch* const launch = activity_.work.launch_of(walk_, operation);
    const bool has_before = at != queue.begin() && activity_.operations[*std::prev(at)].end <= operation.begin;
    const int64_t free = has_before ? activity_.operations[*std::prev(at)].end : INT64_MIN;
    const int64_t free_new = has_before ? ends_new_[*std::prev(at)] : INT64_MIN;
    if (launch != nullptr && launched_new_[index] != INT64_MIN) {
      if (!has_before || launch->begin >= free) {
        begin = std::max(launched_new_[index] + (operation.begin - launch->begin), free_new);
      } else {
        const int64_t call = std::min(launch->end, operation.begin) - launch->begin;
        begin = std::max(free_new + (operation.begin - free), launched_new_[index] + std::max<int64_t>(call, 0));
      }
    } else if (has_before) {
      begin = free_new + (operation.begin - free);
    }
    const double length =
        static_cast<double>(operation.end - operation.begin) * factor(operation.track, operation.class_id);
    ends_new_[index] = begin + std::llround(length);
  }

  // The call returns after the last operation of each queue that it waits for. If they had ended before the call, it
  // takes its own time, but may have to wait now.
  void end_wait(const Event& event) {
    const DeviceWait& wait = *event.wait;
    const std::vector<uint32_t> targets = wait_targets_.of(event.track, wait);
    if (targets.empty()) return;
    int64_t end_new = INT64_MIN;
    for (const uint32_t target : targets) end_new = std::max(end_new, ends_new_[target]);
    const int64_t end = activity_.operations[targets.front()].end;
    int64_t& shift = shifts_[event.track];
    if (end >= wait.begin)
      shift = std::max(wait.begin + shift, end_new + (wait.end - end)) - wait.end;
    else
      shift = std::max(wait.begin + shift, end_new) - wait.begin;
  }

  const EventWalk& walk_;
  const Activity& activity_;
  const FactorOf& factor_of_;
  const WaitTargets wait_targets_;
  std::map<std::pair<uint32_t, uint32_t>, double> factors_;  // by writer and class
  std::vector<Event> events_;
  std::unordered_map<uint32_t, ScaledParts> scaled_;  // by track
  std::vector<Message> messages_;
  std::vector<int64_t> ends_new_, launched_new_;  // by operation
  std::unordered_map<uint32_t, int64_t> shifts_;  // by track: new time minus the time in the trace
};

}  // namespace

int64_t what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const FactorOf& factor_of) {
  return std::max<int64_t>(0, Replay(walk, activity, factor_of).run(track));
}

}  // namespace kymo::analyze
