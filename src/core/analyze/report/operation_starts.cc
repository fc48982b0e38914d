#include "analyze/report/operation_starts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "analyze/report/collective_calls.h"
#include "trace/values.h"

namespace kymo::analyze {
namespace {

constexpr size_t kSmallestDepth = 8;  // of a queue that can be full
constexpr size_t kFewestFull = 8;     // launches that show it
constexpr int kMostSteps = 64;
constexpr int64_t kLongestHandover = 20'000;  // between two queues

// An operation of the trace, whether it is in the window or not.
struct Entry {
  const DeviceOperation* operation = nullptr;
  uint32_t index = kNone;  // in Activity::operations
};

// The operations of one launch: a graph has many.
struct Launched {
  const Launch* launch = nullptr;
  uint32_t number = 0;  // of the launch
  int64_t end = 0;      // of the last one to end
  uint32_t index = kNone;
};

int64_t quantile(std::vector<int64_t>& values, size_t parts) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(values.size() / parts);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A device with its queues.
struct Queues {
  const Device* device = nullptr;
  std::vector<uint32_t> tracks;
};

class Starts {
 public:
  Starts(EventWalk& walk, const HostCalls& calls, Activity& activity)
      : walk_(walk), calls_(calls), activity_(activity) {}

  DeviceCalls find() {
    add_operations();
    read_records();
    add_event_waits();
    for (const Queues& device : devices_) {
      for (const uint32_t track : device.tracks) add_starts(track, *device.device);
      for (const uint32_t track : device.tracks) find_rooms(queues_.at(track));
      if (device.tracks.size() > 1) find_events(device);
    }
    choose_causes();
    find_collectives();
    return std::move(result_);
  }

 private:
  const Launch& launch_at(uint32_t number) const { return activity_.work.launches[number]; }

  void add_operations() {
    const Interval& window = activity_.window;
    for (const Device& device : activity_.work.devices) {
      Queues& queues = devices_.emplace_back(Queues{&device, {}});
      for (const DeviceOperation& one : device.operations) {
        if (one.kind == WorkKind::Wait) continue;
        std::vector<Entry>& queue = queues_[one.track];
        if (queue.empty()) queues.tracks.push_back(one.track);
        queue.push_back({&one, kNone});
      }
    }
    std::vector<Entry*> inside;
    for (auto& [track, queue] : queues_)
      for (Entry& entry : queue)
        if (entry.operation->begin < window.end && entry.operation->end > window.begin) inside.push_back(&entry);
    std::stable_sort(inside.begin(), inside.end(), [](const Entry* a, const Entry* b) {
      return std::tie(a->operation->begin, a->operation->end) < std::tie(b->operation->begin, b->operation->end);
    });
    activity_.starts.resize(inside.size());
    for (Entry* const entry : inside) {
      entry->index = static_cast<uint32_t>(activity_.operations.size());
      activity_.operations.push_back(*entry->operation);
      activity_.starts[entry->index].launch = entry->operation->launch;
    }
  }

  void add_starts(uint32_t track, const Device& device) {
    std::vector<uint32_t> by_begin;
    for (const Entry& entry : queues_.at(track))
      if (entry.index != kNone) by_begin.push_back(entry.index);
    std::sort(by_begin.begin(), by_begin.end());
    std::vector<uint32_t> by_end = by_begin;
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](uint32_t a, uint32_t b) { return operation(a).end < operation(b).end; });
    size_t done = 0;
    for (const uint32_t i : by_begin) {
      OperationStart& start = activity_.starts[i];
      while (done < by_end.size() && operation(by_end[done]).end <= operation(i).begin) ++done;
      for (size_t at = done; at > 0 && done - at < kMostSteps && start.before == kNone; --at)
        if (by_end[at - 1] < i) start.before = by_end[at - 1];
      const int64_t begin = operation(i).begin;
      start.gap_ns = device.gap_ns;
      if (start.launch != kNone && launched(i) > begin) start.launch = kNone;  // the clocks disagree
      if (start.launch == kNone) continue;
      start.arrival_ns = std::min(device.latency_ns, time_between(launched(i), begin));
      const Device::Start known = device.start(launch_at(start.launch), ended(i, start.before), begin);
      start.arrived = known.arrived;
      start.is_late = known.is_late;
      start.unknown_ns = time_between(known.ready, begin);
    }
  }

  // Whether a queue has ever been full, and which launches had to wait for which operation. If it holds N operations, a
  // launch with N before it lasts until the first of these has ended. This is so for each of them, they take longer
  // than others, and there are never more than N.
  void find_rooms(const std::vector<Entry>& queue) {
    std::vector<Launched> launched = launches_of(queue);
    std::vector<int64_t> ends, full, others;
    for (const Launched& one : launched) ends.push_back(one.end);
    std::sort(ends.begin(), ends.end());
    std::vector<size_t> outstanding(launched.size());
    for (size_t i = 0, ended = 0; i < launched.size(); ++i) {
      while (ended < ends.size() && ends[ended] <= launched[i].launch->begin) ++ended;
      outstanding[i] = i - std::min(i, ended);
    }
    if (outstanding.empty()) return;
    const size_t depth = *std::max_element(outstanding.begin(), outstanding.end());
    if (depth < kSmallestDepth) return;
    size_t waited = 0;
    for (size_t i = 0; i < launched.size(); ++i) {
      const Launch& launch = *launched[i].launch;
      (outstanding[i] == depth ? full : others).push_back(time_between(launch.begin, launch.end));
      waited += outstanding[i] == depth && launched[i - depth].end <= launch.end;
    }
    if (full.size() < kFewestFull || 20 * waited < 19 * full.size()) return;
    const int64_t own = quantile(others.empty() ? full : others, 4);
    if (2 * (quantile(full, 2) / 3) < own) return;  // they take as long as the others
    for (size_t i = depth; i < launched.size(); ++i) {
      const uint32_t operation = launched[i - depth].index;
      const Launch& launch = *launched[i].launch;
      if (operation != kNone && launched[i - depth].end <= launch.end)
        result_.rooms.push_back({launched[i].number, operation, std::min(own, time_between(launch.begin, launch.end))});
    }
  }

  std::vector<Launched> launches_of(const std::vector<Entry>& queue) const {
    std::vector<Launched> launched;
    for (const Entry& entry : queue)
      if (const uint32_t launch = entry.operation->launch; launch != kNone)
        launched.push_back({&launch_at(launch), launch, entry.operation->end, entry.index});
    std::sort(launched.begin(), launched.end(), [](const Launched& a, const Launched& b) {
      return std::tie(a.launch->begin, a.number, b.end) < std::tie(b.launch->begin, b.number, a.end);
    });
    const auto same = [](const Launched& a, const Launched& b) { return a.number == b.number; };
    launched.erase(std::unique(launched.begin(), launched.end(), same), launched.end());
    return launched;
  }

  // ---- Events ----

  // PyTorch's records of synchronization.
  void read_records() {
    std::set<uint32_t> wanted;
    std::map<std::tuple<uint32_t, std::string, uint64_t>, uint32_t> tracks;
    for (const TrackOfTrace& track : walk_.tracks()) {
      if (!track.on_device) continue;
      tracks[{track.writer_number, track.track->device_uuid, track.track->queue}] = track.number;
      for (const auto& [id, known] : track.writer->classes)
        if (known.category == "cuda_sync") wanted.insert(track.number);
    }
    if (wanted.empty()) return;
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations | trace::kRangeValues,
        [&](const TrackOfTrace& track) { return wanted.contains(track.number); },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          const trace::Ranges& ranges = batch.ranges;
          trace::ValueCursor cursor(ranges.values);
          for (size_t i = 0; i < ranges.size(); ++i) {
            const trace::EventClass* const known = track.writer->find_class(ranges.class_id[i]);
            const auto& row = cursor.next(known);
            if (known == nullptr || known->category != "cuda_sync" || ranges.correlation.empty()) continue;
            const auto event = number_in(*known, row, "wait_on_cuda_event_record_corr_id");
            SyncRecord record{track.number, kNone, event.value_or(0)};
            if (const auto stream = number_in(*known, row, "wait_on_stream")) {
              const auto other = tracks.find({track.writer_number, track.track->device_uuid, *stream});
              if (other != tracks.end()) record.other = other->second;
            }
            result_.syncs.try_emplace({track.writer_number, ranges.correlation[i]}, record);
          }
        });
  }

  // Nothing for what is not a number, or is negative: PyTorch writes -1 for what it does not know.
  static std::optional<uint64_t> number_in(const trace::EventClass& known,
                                           const std::vector<trace::ValueCursor::Value>& row, std::string_view name) {
    const auto field = std::find_if(known.fields.begin(), known.fields.end(),
                                    [&](const trace::Field& one) { return one.name == name; });
    const double number =
        field == known.fields.end() ? -1 : row[static_cast<size_t>(field - known.fields.begin())].number();
    return number >= 0 && number < 0x1p63 ? std::optional(static_cast<uint64_t>(number)) : std::nullopt;
  }

  // The threads with calls of cudaStreamWaitEvent, by time.
  void add_event_waits() {
    for (const HostCall& call : calls_.event_waits) event_waits_[call.track].push_back(&call);
    for (auto& [track, list] : event_waits_)
      std::sort(list.begin(), list.end(), [](const HostCall* a, const HostCall* b) { return a->begin < b->begin; });
  }

  void find_events(const Queues& device) {
    std::map<uint32_t, std::vector<uint32_t>> by_launch;  // of each queue
    std::vector<uint32_t> by_end;
    for (const uint32_t track : device.tracks) {
      std::vector<uint32_t>& list = by_launch[track];
      for (const Entry& entry : queues_.at(track))
        if (entry.index != kNone && activity_.starts[entry.index].launch != kNone) list.push_back(entry.index);
      by_end.insert(by_end.end(), list.begin(), list.end());
      std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) { return launched(a) < launched(b); });
    }
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](uint32_t a, uint32_t b) { return operation(a).end < operation(b).end; });
    for (const auto& [track, list] : by_launch) find_events(track, list, by_launch, by_end);
  }

  void find_events(uint32_t track, const std::vector<uint32_t>& queue,
                   const std::map<uint32_t, std::vector<uint32_t>>& by_launch, const std::vector<uint32_t>& by_end) {
    const uint32_t writer = walk_.tracks()[track].writer_number;
    int64_t launched_before = INT64_MIN;
    for (const uint32_t i : queue) {
      OperationStart& start = activity_.starts[i];
      bool may_wait = false;
      const auto thread = event_waits_.find(launch_at(start.launch).track);
      if (thread != event_waits_.end()) {
        const auto& list = thread->second;
        auto at = std::partition_point(list.begin(), list.end(),
                                       [&](const HostCall* call) { return call->begin < launched(i); });
        for (int steps = 0; at != list.begin() && steps < kMostSteps; ++steps) {
          const HostCall& call = **--at;
          if (call.begin < launched_before) break;
          const auto record = result_.syncs.find({writer, call.correlation});
          if (record == result_.syncs.end())
            may_wait = true;
          else if (record->second.track == track)
            take_later(i, recorded(record->second, call, writer, by_launch));
        }
      }
      if (start.event == kNone && (may_wait || start.is_late)) {
        take_later(i, last_of_others(i, track, by_end, may_wait ? INT64_MAX : kLongestHandover));
        // A call that blocks, such as cudaMemcpy, returned late because of the same.
        if (start.event != kNone) start.arrived = launched(i) + start.arrival_ns;
      }
      start.waits_for_event = may_wait;
      launched_before = launched(i);
    }
  }

  void take_later(uint32_t i, uint32_t other) {
    if (other == kNone || operation(other).end > operation(i).begin) return;
    uint32_t& event = activity_.starts[i].event;
    if (event == kNone || operation(event).end < operation(other).end) event = other;
  }

  // The last operation that was on the other queue when the event was recorded.
  uint32_t recorded(const SyncRecord& record, const HostCall& wait, uint32_t writer,
                    const std::map<uint32_t, std::vector<uint32_t>>& by_launch) const {
    const auto queue = by_launch.find(record.other);
    if (queue == by_launch.end()) return kNone;
    const uint32_t call = activity_.work.find_launch(writer, record.event_record);
    const int64_t time = call == kNone ? wait.begin : launch_at(call).begin;
    const auto after = std::partition_point(queue->second.begin(), queue->second.end(),
                                            [&](uint32_t i) { return launched(i) < time; });
    return after == queue->second.begin() ? kNone : *std::prev(after);
  }

  // What ended last before the operation began, if nothing else explains why it did not begin before. If no call says
  // that it waits, it must have begun right after that.
  uint32_t last_of_others(uint32_t i, uint32_t track, const std::vector<uint32_t>& by_end, int64_t longest) const {
    const OperationStart& start = activity_.starts[i];
    const int64_t begin = operation(i).begin, ready = std::max(ended(i, start.before), launched(i) + start.arrival_ns);
    auto at = std::partition_point(by_end.begin(), by_end.end(),
                                   [&](uint32_t other) { return operation(other).end <= begin; });
    for (int steps = 0; at != by_end.begin() && steps < kMostSteps; ++steps) {
      const uint32_t other = *--at;
      if (operation(other).end <= ready || time_between(operation(other).end, begin) > longest) return kNone;
      if (operation(other).track != track && other < i && launched(other) <= launched(i)) return other;
    }
    return kNone;
  }

  // When the operation could begin after another one.
  int64_t ended(uint32_t i, uint32_t other) const {
    if (other == kNone) return INT64_MIN;
    const int64_t gap = time_between(operation(other).end, operation(i).begin);
    return operation(other).end + std::min(activity_.starts[i].gap_ns, gap);
  }

  void choose_causes() {
    for (uint32_t i = 0; i < activity_.operations.size(); ++i) {
      OperationStart& start = activity_.starts[i];
      if (start.event != kNone && start.event >= i) start.event = kNone;  // operations of no time
      const int64_t free = ended(i, start.before), event = ended(i, start.event);
      if (start.launch != kNone && start.arrived > std::max(free, event)) {
        start.cause = StartCause::Launch;
        const int64_t latency = time_between(launched(i), operation(i).begin);
        if (start.waits_for_event) start.unknown_ns = latency - start.arrival_ns;
        start.arrival_ns = latency;
      } else if (start.event != kNone && event > free) {
        start.cause = StartCause::Event;
      } else if (start.before != kNone) {
        start.cause = StartCause::Queue;
      }
      if (start.cause == StartCause::Event) start.unknown_ns = 0;
    }
  }

  // ---- Collectives ----

  void find_collectives() {
    std::map<std::tuple<uint32_t, int64_t, int64_t>, uint32_t> numbers;  // by track and times
    for (uint32_t i = 0; i < activity_.operations.size(); ++i)
      if (const DeviceOperation& one = operation(i); one.kind == WorkKind::Communication)
        numbers[{one.track, one.begin, one.end}] = i;
    for (const SharedCall& call : shared_calls(walk_, activity_.work)) {
      Collective collective;
      for (const SharedCall::Member& one : call.members)
        if (const auto found = numbers.find({one.call.track, one.call.begin, one.call.end}); found != numbers.end())
          collective.members.push_back(found->second);
      if (collective.members.size() < 2) continue;
      collective.last = *std::max_element(collective.members.begin(), collective.members.end());  // by begin
      for (const uint32_t member : collective.members)
        activity_.starts[member].collective = static_cast<uint32_t>(activity_.collectives.size());
      activity_.collectives.push_back(std::move(collective));
    }
  }

  const DeviceOperation& operation(uint32_t i) const { return activity_.operations[i]; }
  int64_t launched(uint32_t i) const { return launch_at(activity_.starts[i].launch).begin; }

  EventWalk& walk_;
  const HostCalls& calls_;
  Activity& activity_;
  DeviceCalls result_;
  std::map<uint32_t, std::vector<Entry>> queues_;  // by track
  std::vector<Queues> devices_;
  std::map<uint32_t, std::vector<const HostCall*>> event_waits_;  // by track
};

}  // namespace

DeviceCalls find_starts(EventWalk& walk, const HostCalls& calls, Activity& activity) {
  return Starts(walk, calls, activity).find();
}

}  // namespace kymo::analyze
