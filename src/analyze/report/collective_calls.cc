#include "analyze/report/collective_calls.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

// Arguments that PyTorch's profiler gives to the kernels of collectives.
constexpr std::string_view kGroupName = "Process Group Name", kGroupRanks = "Process Group Ranks",
                           kCollective = "Collective name";
// NCCL runs sends, receives and everything that is made of them with the same kernel. Of these only all-to-all is a
// collective in which every rank waits for every other one.
constexpr std::string_view kSendKernel = "SendRecv", kAllToAll = "all_to_all", kAllToAllShort = "alltoall";

class Numbers {
 public:
  explicit Numbers(std::vector<std::string>& list) : list_(list) {}
  uint32_t of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(list_.size()));
    if (is_new) list_.push_back(text);
    return entry->second;
  }

 private:
  std::vector<std::string>& list_;
  std::map<std::string, uint32_t> numbers_;
};

class Calls {
 public:
  Calls(EventWalk& walk, const DeviceWork& work, const Iterations& iterations, const std::vector<uint64_t>& numbers)
      : walk_(walk), work_(work), iterations_(iterations), numbers_(numbers) {}

  CollectiveCalls compute() {
    walk_.each(
        trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations | trace::kRangeValues,
        [](const TrackOfTrace& track) { return track.on_device; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) { add(track, batch); });
    number_calls();
    return std::move(result_);
  }

 private:
  // What is known of a class of events.
  struct Known {
    const trace::EventClass* event_class = nullptr;
    bool is_communication = false, is_send = false;
    uint32_t name = 0;
    int group_name = -1, group_ranks = -1, collective = -1;  // fields
  };

  const Known& class_of(const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id});
    Known& known = entry->second;
    const auto found = track.writer->classes.find(class_id);
    if (!is_new || found == track.writer->classes.end()) return known;
    const trace::EventClass& event_class = found->second;
    known.event_class = &event_class;
    known.is_communication = work_kind(event_class.category, event_class.name) == WorkKind::Communication;
    if (!known.is_communication) return known;
    known.is_send = event_class.name.find(kSendKernel) != std::string::npos;
    known.name = names_.of(base::without_iteration_number(trace::shown_name(event_class)));
    for (size_t i = 0; i < event_class.fields.size(); ++i) {
      const std::string& field = event_class.fields[i].name;
      if (field == kGroupName) known.group_name = static_cast<int>(i);
      if (field == kGroupRanks) known.group_ranks = static_cast<int>(i);
      if (field == kCollective) known.collective = static_cast<int>(i);
    }
    return known;
  }

  using Row = std::vector<trace::ValueCursor::Value>;
  static std::string text(const Row& row, int field) {
    return field < 0 || static_cast<size_t>(field) >= row.size() ? std::string()
                                                                 : trace::to_text(row[static_cast<size_t>(field)]);
  }

  // With the ranks: groups that are made by some ranks only may have the same name.
  static std::string group_of(const Known& known, const Row& row) {
    std::string name = text(row, known.group_name);
    const std::string ranks = text(row, known.group_ranks);
    if (!name.empty() && !ranks.empty()) name += ' ';
    return name + ranks;
  }

  static bool is_point_to_point(const Known& known, const Row& row) {
    if (!known.is_send) return false;
    const std::string collective = text(row, known.collective);
    return collective.find(kAllToAll) == std::string::npos && collective.find(kAllToAllShort) == std::string::npos;
  }

  void add(TrackOfTrace& track, const trace::EventBatch& batch) {
    const trace::Ranges& ranges = batch.ranges;
    trace::ValueCursor values(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Known& known = class_of(track, ranges.class_id[i]);
      const Row& row = values.next(known.event_class);
      if (!known.is_communication) continue;
      DeviceOperation operation;
      operation.begin = track.ns(ranges.end[i] - ranges.duration[i]);
      operation.end = track.ns(ranges.end[i]);
      operation.correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
      operation.track = track.number;
      const Launch* const launch = work_.launch_of(walk_, operation);
      const auto iteration = iterations_.at(launch != nullptr ? launch->begin : operation.begin);
      if (!iteration) continue;
      if (result_.rows.size() >= CollectiveCalls::kMostRows) {
        ++result_.left_out;
        continue;
      }
      CollectiveCall& call = result_.rows.emplace_back();
      call.iteration = *iteration;
      call.group = groups_.of(group_of(known, row));
      call.name = known.name;
      call.is_point_to_point = is_point_to_point(known, row);
      call.begin = operation.begin;
      call.end = operation.end;
    }
  }

  void number_calls() {
    std::stable_sort(result_.rows.begin(), result_.rows.end(),
                     [](const CollectiveCall& a, const CollectiveCall& b) { return a.begin < b.begin; });
    std::map<std::tuple<uint64_t, uint32_t, uint32_t, bool>, uint32_t> counts;
    const auto count_of = [&](const CollectiveCall& call) -> uint32_t& {
      const uint64_t iteration = numbers_.empty() ? call.iteration : numbers_[call.iteration];
      return counts[{iteration, call.group, call.name, call.is_point_to_point}];
    };
    for (CollectiveCall& call : result_.rows) call.call = count_of(call)++;
    for (CollectiveCall& call : result_.rows) call.calls = count_of(call);
  }

  EventWalk& walk_;
  const DeviceWork& work_;
  const Iterations& iterations_;
  const std::vector<uint64_t>& numbers_;
  CollectiveCalls result_;
  Numbers groups_{result_.groups}, names_{result_.names};
  std::map<std::pair<uint32_t, uint32_t>, Known> classes_;  // by writer and class
};

}  // namespace

CollectiveCalls collective_calls(EventWalk& walk, const DeviceWork& work, const Iterations& iterations,
                                 const std::vector<uint64_t>& numbers) {
  const bool has_any = std::any_of(work.devices.begin(), work.devices.end(), [](const Device& device) {
    return std::any_of(device.operations.begin(), device.operations.end(),
                       [](const DeviceOperation& one) { return one.kind == WorkKind::Communication; });
  });
  return has_any ? Calls(walk, work, iterations, numbers).compute() : CollectiveCalls{};
}

}  // namespace kymo::analyze
