#include "analyze/report/thread_waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace kymo::analyze {
namespace {

constexpr int64_t kShortestWait = 20'000;  // what is shorter is not looked for where the trace does not name it
constexpr int64_t kMostWaits = 5'000;      // of a window, likewise

// The times at which a thread did something that the trace shows.
class Moments {
 public:
  explicit Moments(const ThreadActivity& thread) {
    for (const HostRange& range : thread.ranges) {
      begins_.push_back(range.begin);
      ends_.push_back(range.end);
    }
    std::sort(begins_.begin(), begins_.end());
    std::sort(ends_.begin(), ends_.end());
  }
  void add_send(int64_t time) { sends_.push_back(time); }
  void sort_sends() { std::sort(sends_.begin(), sends_.end()); }

  // The last one that is not after a time.
  std::optional<int64_t> last(int64_t time) const {
    std::optional<int64_t> found;
    for (const std::vector<int64_t>* const list : {&begins_, &ends_, &sends_}) {
      const auto after = std::upper_bound(list->begin(), list->end(), time);
      if (after != list->begin() && (!found || *found < *std::prev(after))) found = *std::prev(after);
    }
    return found;
  }
  std::optional<int64_t> last_end(int64_t time) const {
    const auto after = std::upper_bound(ends_.begin(), ends_.end(), time);
    return after == ends_.begin() ? std::nullopt : std::optional(*std::prev(after));
  }
  // The first begin after a time and not after a limit; the limit if there is none.
  int64_t first_begin(int64_t time, int64_t limit) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), time);
    return after == begins_.end() ? limit : std::min(*after, limit);
  }
  // Whether it ends something, or sends something, after a message was sent and before it was received. What ends when
  // the message is received waited for it, unless something else begins then: the message belongs to that.
  bool acts_between(int64_t sent, int64_t received) const {
    const bool begins = std::binary_search(begins_.begin(), begins_.end(), received);
    for (const std::vector<int64_t>* const list : {&ends_, &sends_}) {
      const auto after = std::upper_bound(list->begin(), list->end(), sent);
      if (after != list->end() && (*after < received || (begins && list == &ends_ && *after == received))) return true;
    }
    return false;
  }
  // The times between two moments that are at least this long.
  std::vector<Interval> gaps(int64_t shortest) const {
    std::vector<Interval> found;
    size_t begin = 0, end = 0;
    for (std::optional<int64_t> before; begin < begins_.size() || end < ends_.size();) {
      const bool is_begin = begin < begins_.size() && (end == ends_.size() || begins_[begin] <= ends_[end]);
      const int64_t now = is_begin ? begins_[begin++] : ends_[end++];
      if (before && time_between(*before, now) >= shortest) found.push_back({*before, now});
      before = now;
    }
    return found;
  }

 private:
  std::vector<int64_t> begins_, ends_, sends_;
};

class Waits {
 public:
  Waits(const EventWalk& walk, const HostCalls& calls, const DeviceCalls& device_calls, Activity& activity)
      : walk_(walk), calls_(calls), device_calls_(device_calls), activity_(activity) {}

  void find(const StatesOfThreads* states) {
    find_device_waits();
    find_copies();
    find_rooms();
    keep_disjoint();
    if (states != nullptr) find_handovers(*states);
    keep_disjoint();
    for (const auto& [track, thread] : activity_.threads) moments_.emplace(track, thread);
    find_messages();
    keep_disjoint();
    find_backward_passes();
    find_named_waits();
    keep_disjoint();
  }

 private:
  struct Found {
    uint32_t track = 0;
    ThreadWait wait;
  };

  void add(uint32_t track, ThreadWait wait, const std::vector<Cause>& causes) {
    wait.first_cause = static_cast<uint32_t>(activity_.causes.size());
    wait.causes = static_cast<uint32_t>(causes.size());
    activity_.causes.insert(activity_.causes.end(), causes.begin(), causes.end());
    found_.push_back({track, wait});
  }

  // Adds what was found to the threads, except what overlaps a wait that is there already. Of calls inside each other,
  // the inner one counts.
  void keep_disjoint() {
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::tie(a.track, a.wait.end, b.wait.begin) < std::tie(b.track, b.wait.end, a.wait.begin);
    });
    for (size_t i = 0; i < found_.size();) {
      const uint32_t track = found_[i].track;
      std::vector<ThreadWait>& waits = activity_.threads[track].waits;
      const size_t known = waits.size();
      int64_t free = INT64_MIN;
      for (; i < found_.size() && found_[i].track == track; ++i) {
        const ThreadWait& wait = found_[i].wait;
        if (wait.begin < free || wait.begin > wait.end) continue;
        const auto next = std::partition_point(waits.begin(), waits.begin() + static_cast<ptrdiff_t>(known),
                                               [&](const ThreadWait& one) { return one.end <= wait.begin; });
        if (next != waits.begin() + static_cast<ptrdiff_t>(known) && next->begin < wait.end) continue;
        free = wait.end;
        waits.push_back(wait);
      }
      std::inplace_merge(waits.begin(), waits.begin() + static_cast<ptrdiff_t>(known), waits.end(),
                         [](const ThreadWait& a, const ThreadWait& b) { return a.begin < b.begin; });
    }
    found_.clear();
  }

  bool is_in_window(const HostCall& call) const {
    return call.begin < activity_.window.end && call.end > activity_.window.begin;
  }
  const DeviceOperation& operation(uint32_t i) const { return activity_.operations[i]; }
  Cause end_of(uint32_t i) const { return {operation(i).end, i, 0}; }
  uint32_t writer_of(uint32_t track) const { return walk_.tracks()[track].writer_number; }

  // ---- Waits for a device ----

  struct Queue {
    uint32_t track = 0;
    const std::string* device = nullptr;
    std::vector<uint32_t> by_end;  // operations
  };

  void find_device_waits() {
    std::map<uint32_t, std::vector<uint32_t>> tracks;
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) tracks[operation(i).track].push_back(i);
    for (auto& [track, list] : tracks) {
      std::stable_sort(list.begin(), list.end(),
                       [&](uint32_t a, uint32_t b) { return operation(a).end < operation(b).end; });
      queues_[writer_of(track)].push_back({track, &walk_.tracks()[track].track->device_uuid, std::move(list)});
    }
    for (const HostCall& call : calls_.waits) {
      if (!is_in_window(call)) continue;
      std::vector<Cause> causes;
      for (const uint32_t target : targets(call)) causes.push_back(end_of(target));
      if (causes.empty()) continue;
      const int64_t own = time_between(std::max(call.begin, causes[0].time), call.end);
      add(call.track, {call.begin, call.end, own, 0, 0, WaitKind::Device}, causes);
    }
  }

  // The last operation that was launched before the call and ended before its end.
  uint32_t last_before(const Queue& queue, const HostCall& call) const {
    auto after = std::partition_point(queue.by_end.begin(), queue.by_end.end(),
                                      [&](uint32_t i) { return operation(i).end <= call.end; });
    while (after != queue.by_end.begin()) {
      const uint32_t i = *--after;
      const uint32_t launch = activity_.starts[i].launch;
      if (operation(i).begin < call.end && (launch == kNone || activity_.work.launches[launch].begin < call.begin))
        return i;
    }
    return kNone;
  }

  // Of each queue that the call waits for, the last operation: the one that ended last comes first. A call for a whole
  // device waits for all of its queues. If the trace does not say which device or queue it is, it follows from the
  // operation that ended last: the call returned when it ended. If all had ended before the call, this is known only if
  // there is no choice. Empty: it waits for nothing that is known.
  std::vector<uint32_t> targets(const HostCall& call) const {
    struct Last {
      uint32_t operation;
      const Queue* queue;
    };
    const auto queues = queues_.find(writer_of(call.track));
    if (queues == queues_.end()) return {};
    const bool is_whole = call.kind == CallKind::DeviceWait;
    const auto record = device_calls_.syncs.find({writer_of(call.track), call.correlation});
    std::vector<Last> all;
    for (const Queue& queue : queues->second) {
      if (!is_whole && record != device_calls_.syncs.end() && is_known(record->second) &&
          queue.track != queue_of(record->second))
        continue;
      if (const uint32_t last = last_before(queue, call); last != kNone) all.push_back({last, &queue});
    }
    std::stable_sort(all.begin(), all.end(), [&](const Last& a, const Last& b) {
      return operation(a.operation).end > operation(b.operation).end;
    });
    if (all.empty()) return {};
    const Last first = all.front();
    const auto is_other = [&](const Last& one) {
      return is_whole ? *one.queue->device != *first.queue->device : one.queue != first.queue;
    };
    const bool waited = operation(first.operation).end >= call.begin;
    if (!waited && std::any_of(all.begin(), all.end(), is_other)) return {};
    std::erase_if(all, is_other);
    std::vector<uint32_t> operations;
    for (const Last& one : all) operations.push_back(one.operation);
    return operations;
  }

  // A record of an event names its queue; one of a stream is on it. That queue must have work.
  static uint32_t queue_of(const SyncRecord& record) { return record.other != kNone ? record.other : record.track; }
  bool is_known(const SyncRecord& record) const {
    const auto& queues = queues_.at(writer_of(queue_of(record)));
    return std::any_of(queues.begin(), queues.end(), [&](const Queue& one) { return one.track == queue_of(record); });
  }

  void find_rooms() {
    for (const RoomWait& room : device_calls_.rooms) {
      const Launch& launch = activity_.work.launches[room.launch];
      if (launch.begin >= activity_.window.end || launch.end <= activity_.window.begin) continue;
      add(launch.track, {launch.begin, launch.end, room.own_ns, 0, 0, WaitKind::Room}, {end_of(room.operation)});
    }
  }

  // A copy that is not asynchronous ends after its operation.
  void find_copies() {
    if (calls_.copies.empty()) return;
    std::map<std::pair<uint32_t, uint64_t>, const HostCall*> by_correlation;
    for (const HostCall& call : calls_.copies)
      if (call.correlation != 0 && is_in_window(call))
        by_correlation.try_emplace({writer_of(call.track), call.correlation}, &call);
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      const DeviceOperation& one = operation(i);
      if (one.kind != WorkKind::Copy) continue;
      const auto found = by_correlation.find({writer_of(one.track), one.correlation});
      if (found == by_correlation.end() || one.end > found->second->end) continue;
      const HostCall& call = *found->second;
      if (call.kind == CallKind::AsyncCopy) {
        const trace::EventClass* const known = walk_.tracks()[one.track].writer->find_class(one.class_id);
        if (known == nullptr || known->name.find("-> Pageable") == std::string::npos) continue;
      }
      const int64_t own = time_between(std::max(call.begin, one.end), call.end);
      add(call.track, {call.begin, call.end, own, 0, 0, WaitKind::Device}, {end_of(i)});
    }
  }

  // ---- Waits for a thread ----

  // Where a wait is known from the kernel and from its lock, the kernel's comes first: it is the shorter one.
  void find_handovers(const StatesOfThreads& states) {
    const std::vector<uint32_t> tracks = tracks_of_threads(walk_, activity_, states);
    const Interval& window = activity_.window;
    for (const Handover& one : states.handovers) {
      const uint32_t track = tracks[one.waiting], by = tracks[one.by];
      if (track == kNone || by == kNone || track == by || one.end <= window.begin || one.woken >= window.end) continue;
      if (time_between(one.begin, one.woken) < shortest_wait()) continue;
      const int64_t begin = std::max(one.begin, window.begin), woken = std::max(one.woken, begin);
      add(track, {begin, std::min(one.end, window.end), 0, 0, 0, WaitKind::Thread}, {{woken, kNone, by}});
    }
  }

  void find_messages() {
    std::vector<FlowPoint> points = calls_.flows;
    std::stable_sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
      return std::tie(a.writer, a.id, a.time, a.receives) < std::tie(b.writer, b.id, b.time, b.receives);
    });
    for (const FlowPoint& point : points)
      if (const auto found = moments_.find(point.track); point.sends && found != moments_.end())
        found->second.add_send(point.time);
    for (auto& [track, moments] : moments_) moments.sort_sends();
    for (size_t i = 1; i < points.size(); ++i) {
      const FlowPoint &sent = points[i - 1], &here = points[i];
      if (!here.receives || sent.writer != here.writer || sent.id != here.id || sent.track == here.track) continue;
      const auto moments = moments_.find(here.track);
      if (moments == moments_.end()) continue;
      Interval wait{here.time, here.time};  // the message was there before
      if (!moments->second.acts_between(sent.time, here.time))
        wait = {moments->second.last(sent.time).value_or(activity_.window.begin),
                moments->second.first_begin(sent.time, here.time)};
      add(here.track, {wait.begin, wait.end, 0, 0, 0, WaitKind::Message}, {{sent.time, kNone, sent.track}});
    }
  }

  int64_t shortest_wait() const {
    return std::max(kShortestWait, time_between(activity_.window.begin, activity_.window.end) / kMostWaits);
  }

  // A thread that does nothing while a thread of the backward pass works: most of the time, and in no range at both
  // ends of it. The one waits for the other to begin, and the other for this one to end.
  void find_backward_passes() {
    struct Pass {
      uint32_t waiting = 0;
      int64_t since = 0;
    };
    std::map<std::pair<uint32_t, int64_t>, Pass> passes;  // by thread of the pass, and its begin
    for (const uint32_t engine : calls_.autograd) {
      const auto thread = activity_.threads.find(engine);
      if (thread == activity_.threads.end()) continue;
      std::vector<Interval> ranges;
      for (const HostRange& range : thread->second.ranges) ranges.push_back({range.begin, range.end});
      const Intervals busy(std::move(ranges));
      for (const auto& [track, moments] : moments_) {
        if (track == engine || writer_of(track) != writer_of(engine)) continue;
        for (const Interval& gap : moments.gaps(shortest_wait())) {
          const auto work = inside(busy, gap);
          if (!work || !is_free(activity_.threads[track], *work)) continue;
          add(track, {work->begin, work->end, 0, 0, 0, WaitKind::Thread}, {{work->end, kNone, engine}});
          Pass& pass = passes.try_emplace({engine, work->begin}, Pass{track, gap.begin}).first->second;
          if (gap.begin > pass.since) pass = {track, gap.begin};
        }
      }
    }
    for (const auto& [key, pass] : passes) {
      const auto& [engine, begin] = key;
      const int64_t since = moments_.at(engine).last(begin - 1).value_or(activity_.window.begin);
      add(engine, {since, begin, 0, 0, 0, WaitKind::Thread}, {{begin, kNone, pass.waiting}});
    }
  }

  static bool is_free(const ThreadActivity& thread, const Interval& time) {
    const auto next = std::partition_point(thread.waits.begin(), thread.waits.end(),
                                           [&](const ThreadWait& one) { return one.end <= time.begin; });
    return next == thread.waits.end() || next->begin >= time.end;
  }

  // From the first to the last time of a set that is in a gap, if it is most of the gap.
  static std::optional<Interval> inside(const Intervals& busy, const Interval& gap) {
    const auto all = busy.all();
    const auto first =
        std::partition_point(all.begin(), all.end(), [&](const Interval& one) { return one.end <= gap.begin; });
    const auto after = std::partition_point(first, all.end(), [&](const Interval& one) { return one.begin < gap.end; });
    if (first == after || first->begin < gap.begin || std::prev(after)->end > gap.end) return std::nullopt;
    const Interval work{first->begin, std::prev(after)->end};
    const int64_t length = time_between(work.begin, work.end);
    const bool is_most = length / 3 >= time_between(gap.begin, gap.end) / 4 &&
                         busy.covered(work.begin, work.end) >= static_cast<uint64_t>(length) / 2;
    return is_most ? std::optional(work) : std::nullopt;
  }

  // A range that says that it waits, with nothing in it. One other thread of the process ends a range at its end.
  void find_named_waits() {
    for (const HostCall& call : calls_.waiting) {
      const int64_t length = time_between(call.begin, call.end);
      if (!is_in_window(call) || length < shortest_wait()) continue;
      const auto own = moments_.find(call.track);
      if (own == moments_.end() || own->second.last(call.end - 1) != std::max(call.begin, activity_.window.begin))
        continue;
      const int64_t nearest = std::max(call.begin, call.end - std::max(kShortestWait, length / 20));
      uint32_t candidates = 0;
      Cause cause;
      for (const auto& [track, moments] : moments_) {
        if (track == call.track || writer_of(track) != writer_of(call.track)) continue;
        const auto end = moments.last_end(call.end);
        if (!end || *end <= nearest) continue;
        ++candidates;
        cause = {*end, kNone, track};
      }
      if (candidates == 1)
        add(call.track, {std::max(call.begin, activity_.window.begin), cause.time, 0, 0, 0, WaitKind::Thread}, {cause});
    }
  }

  const EventWalk& walk_;
  const HostCalls& calls_;
  const DeviceCalls& device_calls_;
  Activity& activity_;
  std::vector<Found> found_;
  std::map<uint32_t, std::vector<Queue>> queues_;  // by writer
  std::map<uint32_t, Moments> moments_;            // by track
};

}  // namespace

void find_waits(const EventWalk& walk, const HostCalls& calls, const DeviceCalls& device_calls,
                const StatesOfThreads* states, Activity& activity) {
  Waits(walk, calls, device_calls, activity).find(states);
}

}  // namespace kymo::analyze
