#include "analyze/path/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace kymo::analyze {
namespace {

class Replay {
 public:
  Replay(const EventWalk& walk, const Activity& activity, const FactorOf& factor_of)
      : walk_(walk), activity_(activity), factor_of_(factor_of) {}

  int64_t run(uint32_t track) {
    add_threads();
    add_operations();
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.kind) < std::tie(b.time, b.kind);
    });
    for (const Event& event : events_) step(event);
    return activity_.window.end - activity_.window.begin + shifts_[track];
  }

 private:
  // At one time, what ends comes first.
  enum class Kind : uint8_t { RangeEnd, WaitEnd, Receive, Send, Launch, Start };
  struct Event {
    int64_t time = 0;
    Kind kind = Kind::RangeEnd;
    uint32_t track = 0;
    uint32_t index = 0;  // of an operation, or of a message
    int64_t change = 0;  // of a range: what it becomes longer
    int64_t begin = 0;   // of a wait
  };
  struct Message {
    int64_t sent = 0, arrives = 0;  // in the trace
    int64_t sent_new = 0;
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
      for (const DeviceWait& wait : thread.waits) events_.push_back({wait.end, Kind::WaitEnd, track, 0, 0, wait.begin});
      for (const Handover& one : thread.handovers) {
        const auto index = static_cast<uint32_t>(messages_.size());
        messages_.push_back({one.sent, one.time, one.sent});
        events_.push_back({one.sent, Kind::Send, one.from_track, index, 0, 0});
        events_.push_back({one.time, Kind::Receive, track, index, 0, 0});
      }
    }
  }

  // The self time of a range is scaled, and what is inside by its own factor.
  void add_ranges(uint32_t track, const ThreadActivity& thread) {
    std::vector<std::pair<const HostRange*, int64_t>> open;  // and the time inside
    const auto close = [&] {
      const auto [range, inside] = open.back();
      open.pop_back();
      const double scale = factor(track, range->class_id);
      if (scale != 1.0 && range->begin >= activity_.window.begin && range->end <= activity_.window.end) {
        const auto self = static_cast<double>(range->end - range->begin - inside);
        events_.push_back({range->end, Kind::RangeEnd, track, 0, std::llround(self * (scale - 1)), 0});
      }
      if (!open.empty()) open.back().second += range->end - range->begin;
    };
    for (const HostRange& range : thread.ranges) {
      while (!open.empty() && open.back().first->end <= range.begin) close();
      open.emplace_back(&range, 0);
    }
    while (!open.empty()) close();
  }

  void add_operations() {
    ends_new_.resize(activity_.operations.size());
    launched_new_.resize(activity_.operations.size(), INT64_MIN);
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      const DeviceOperation& operation = activity_.operations[i];
      ends_new_[i] = operation.end;
      by_end_.push_back(i);
      if (const Launch* const launch = activity_.work.launch_of(walk_, operation))
        events_.push_back({launch->begin, Kind::Launch, launch->track, i, 0, 0});
      events_.push_back({operation.begin, Kind::Start, operation.track, i, 0, 0});
    }
    std::sort(by_end_.begin(), by_end_.end(),
              [&](uint32_t a, uint32_t b) { return activity_.operations[a].end < activity_.operations[b].end; });
  }

  void step(const Event& event) {
    switch (event.kind) {
      case Kind::RangeEnd:
        shifts_[event.track] += event.change;
        break;
      case Kind::Send:
        messages_[event.index].sent_new = messages_[event.index].sent + shifts_[event.track];
        break;
      case Kind::Receive: {
        // The thread waited for it if it did nothing between the send and the receipt; then it moves with the sender.
        const Message& message = messages_[event.index];
        const int64_t moved = message.sent_new - message.sent;
        if (was_idle(event.track, message)) shifts_[event.track] = moved;
        break;
      }
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

  bool was_idle(uint32_t track, const Message& message) const {
    for (const Interval& one : activity_.threads.at(track).outermost) {
      if (one.begin > message.arrives) break;
      if (one.begin <= message.sent && one.end > message.sent) return false;
    }
    return true;
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

  void end_wait(const Event& wait) {
    const auto after = std::partition_point(by_end_.begin(), by_end_.end(),
                                            [&](uint32_t i) { return activity_.operations[i].end <= wait.time; });
    int64_t& shift = shifts_[wait.track];
    if (after == by_end_.begin()) return;
    const uint32_t last = *std::prev(after);
    const int64_t end = activity_.operations[last].end;
    if (end < wait.begin) return;
    shift = std::max(wait.begin + shift, ends_new_[last] + (wait.time - end)) - wait.time;
  }

  const EventWalk& walk_;
  const Activity& activity_;
  const FactorOf& factor_of_;
  std::map<std::pair<uint32_t, uint32_t>, double> factors_;  // by writer and class
  std::vector<Event> events_;
  std::vector<Message> messages_;
  std::vector<uint32_t> by_end_;
  std::vector<int64_t> ends_new_, launched_new_;  // by operation
  std::unordered_map<uint32_t, int64_t> shifts_;  // by track: new time minus the time in the trace
};

}  // namespace

int64_t what_if(const EventWalk& walk, const Activity& activity, uint32_t track, const FactorOf& factor_of) {
  return std::max<int64_t>(0, Replay(walk, activity, factor_of).run(track));
}

}  // namespace kymo::analyze
