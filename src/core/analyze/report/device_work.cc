#include "analyze/report/device_work.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/text.h"
#include "trace/device_range.h"

namespace kymo::analyze {
namespace {

bool contains_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// The kind of each class of a writer, found once.
class Kinds {
 public:
  std::optional<WorkKind> of(const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = kinds_.try_emplace({track.writer_number, class_id});
    if (is_new) {
      const trace::EventClass* const known = track.writer->find_class(class_id);
      if (known != nullptr) entry->second = work_kind(known->category, known->name);
    }
    return entry->second;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::optional<WorkKind>> kinds_;
};

const std::string* metadata_of(const trace::Origin& origin, std::string_view name) {
  const auto found =
      std::find_if(origin.metadata.begin(), origin.metadata.end(), [&](const auto& one) { return one.first == name; });
  return found == origin.metadata.end() ? nullptr : &found->second;
}

bool is_same(const Launch& a, const Launch& b) {
  return a.writer_number == b.writer_number && a.correlation == b.correlation;
}
bool is_before(const Launch& a, const Launch& b) {
  return a.writer_number != b.writer_number ? a.writer_number < b.writer_number : a.correlation < b.correlation;
}

}  // namespace

std::optional<WorkKind> work_kind(std::string_view category, std::string_view name) {
  const trace::DeviceRange kind = trace::device_range(category);
  if (kind == trace::DeviceRange::Annotation) return std::nullopt;
  if (kind == trace::DeviceRange::Wait) return WorkKind::Wait;
  if (contains_word(name, "nccl") || contains_word(name, "rccl") || category == "collective_comm")
    return WorkKind::Communication;
  return kind == trace::DeviceRange::Kernel ? WorkKind::Compute : WorkKind::Copy;
}

uint32_t DeviceWork::find_launch(uint32_t writer_number, uint64_t correlation) const {
  if (correlation == 0) return kNone;
  const Launch wanted{.writer_number = writer_number, .correlation = correlation};
  const auto at = std::lower_bound(launches.begin(), launches.end(), wanted, is_before);
  return at != launches.end() && is_same(*at, wanted) ? static_cast<uint32_t>(at - launches.begin()) : kNone;
}

constexpr int64_t kLong = 50'000, kManyTimes = 4;

Device::Start Device::start(const Launch& launch, int64_t free, int64_t begin) const {
  const auto is_long_after = [&](int64_t time) {
    const int64_t waited = time_between(std::max(free, time), begin);
    return waited > kLong && waited / kManyTimes > latency_ns;
  };
  Start start{launch.begin + std::min(latency_ns, time_between(launch.begin, begin)), begin, false};
  start.is_late = is_long_after(start.arrived);
  if (launch.end <= begin || start.is_late) start.arrived = std::max(start.arrived, std::min(launch.end, begin));
  if (is_long_after(start.arrived)) start.ready = std::max(free, start.arrived);
  return start;
}

std::optional<uint32_t> launching_track(const DeviceWork& work, const std::function<bool(uint32_t track)>& counts) {
  std::map<uint32_t, size_t> launches;
  for (const Launch& launch : work.launches)
    if (!counts || counts(launch.track)) ++launches[launch.track];
  const auto most = std::max_element(launches.begin(), launches.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches.end() ? std::nullopt : std::optional(most->first);
}

namespace {

// A device has the same UUID in all processes of a recording. Traces of other tools only number their devices, so the
// devices of two imported files are different ones. Returns whether there are any.
bool list_devices(const EventWalk& walk, DeviceWork& work, std::vector<uint32_t>& device_of) {
  std::map<std::pair<std::string, std::string>, uint32_t> numbers;
  std::map<std::string, std::vector<std::pair<uint32_t, std::string>>> by_name;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!track.on_device) continue;
    const std::string* const file = metadata_of(track.writer->origin, "imported from");
    const auto [entry, is_new] = numbers.try_emplace({track.track->device_uuid, file != nullptr ? *file : ""},
                                                     static_cast<uint32_t>(work.devices.size()));
    device_of[track.number] = entry->second;
    if (!is_new) continue;
    const std::string name = track.track->device().empty() ? "device" : track.track->device();
    work.devices.push_back({name, rank_name(*track.writer), {}});
    by_name[name].emplace_back(entry->second, work.devices.back().rank);
  }
  for (const auto& [name, same] : by_name)
    if (same.size() > 1)
      for (const auto& [device, rank] : same) work.devices[device].name = name + " of " + rank;
  return !work.devices.empty();
}

}  // namespace

std::string rank_number(const trace::WriterInfo& process) {
  constexpr std::string_view kRank = "\"rank\"";
  std::string digits;
  if (const std::string* const rank = metadata_of(process.origin, "RANK")) digits = *rank;
  if (const std::string* const info = metadata_of(process.origin, "distributedInfo");
      digits.empty() && info != nullptr) {
    size_t at = info->find(kRank);
    if (at != std::string::npos) at = info->find_first_not_of(" :\"", at + kRank.size());
    if (at != std::string::npos) digits = info->substr(at, info->find_first_not_of("0123456789", at) - at);
  }
  const bool is_number = !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == digits.npos;
  return is_number ? digits : std::string();
}

std::string rank_name(const trace::WriterInfo& process) {
  if (const std::string number = rank_number(process); !number.empty()) return "rank " + number;
  const std::string program = trace::program_name(process.origin);
  return program.empty() ? base::format("process {}", process.origin.pid)
                         : base::format("{} ({})", program, process.origin.pid);
}

namespace {

int64_t short_one(std::vector<int64_t>& lengths) {
  if (lengths.empty()) return 0;
  const auto at = lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 16);
  std::nth_element(lengths.begin(), at, lengths.end());
  return *at;
}

void find_launches(const EventWalk& walk, DeviceWork& work) {
  for (Device& device : work.devices) {
    size_t next = 0;  // work mostly runs in the order of its launches
    for (DeviceOperation& one : device.operations) {
      const Launch wanted{.writer_number = walk.tracks()[one.track].writer_number, .correlation = one.correlation};
      const bool is_next = one.correlation != 0 && next < work.launches.size() && is_same(work.launches[next], wanted);
      one.launch = is_next ? static_cast<uint32_t>(next) : work.find_launch(wanted.writer_number, one.correlation);
      if (one.launch == kNone) continue;
      next = one.launch + size_t{1};
      while (next < work.launches.size() && is_same(work.launches[next], wanted)) ++next;  // the calls around it
    }
  }
}

void measure_starts(const DeviceWork& work, Device& device) {
  std::vector<int64_t> latencies, gaps;
  const auto each = [&](const auto& visit) {
    std::unordered_map<uint32_t, int64_t> free;  // by track; what was before its first operation is not known
    for (const DeviceOperation& one : device.operations) {
      if (one.kind == WorkKind::Wait) continue;
      int64_t& since = free.try_emplace(one.track, INT64_MIN).first->second;
      const Launch* const launch = work.launch_of(one);
      if (launch != nullptr && launch->begin <= one.begin && since <= one.begin) visit(launch->begin, since, one.begin);
      since = std::max(since, one.end);
    }
  };
  each([&](int64_t launched, int64_t free, int64_t begin) {
    const int64_t latency = time_between(launched, begin);
    if (launched >= free && (free != INT64_MIN || latency <= kLong)) latencies.push_back(latency);
  });
  device.latency_ns = short_one(latencies);
  each([&](int64_t launched, int64_t free, int64_t begin) {
    if (launched < free && time_between(launched, free) >= device.latency_ns) gaps.push_back(time_between(free, begin));
  });
  device.gap_ns = short_one(gaps);
}

}  // namespace

namespace {

bool is_captured(const trace::Field& field) { return field.name == "captured" && field.type == trace::FieldType::UInt; }

bool has_captures(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.classes,
                             [](const auto& one) { return std::ranges::any_of(one.second.fields, is_captured); });
}

uint64_t captured_in(const trace::EventClass* known, const std::vector<trace::ValueCursor::Value>& row) {
  if (known == nullptr || row.size() != known->fields.size()) return 0;
  const auto field = std::ranges::find_if(known->fields, is_captured);
  return field == known->fields.end() ? 0 : row[static_cast<size_t>(field - known->fields.begin())].bits;
}

}  // namespace

DeviceWork read_device_work(EventWalk& walk) {
  DeviceWork work;
  std::vector<uint32_t> device_of(walk.tracks().size());
  if (!list_devices(walk, work, device_of)) return work;

  Kinds kinds;
  size_t count = 0;
  constexpr unsigned kParts = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations;
  const bool needs_values =
      std::ranges::any_of(walk.reader().writers(), [](const auto& writer) { return has_captures(writer.second); });
  walk.each(
      kParts | (needs_values ? trace::kRangeValues : 0u), [](const TrackOfTrace&) { return true; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const trace::Ranges& ranges = batch.ranges;
        if (!track.on_device && ranges.correlation.empty()) return;
        const bool reads_values = needs_values && track.on_device;
        trace::ValueCursor values(ranges.values);
        for (size_t i = 0; i < ranges.size(); ++i) {
          const uint64_t correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
          if (!track.on_device && correlation == 0) continue;
          uint64_t captured = 0;
          if (reads_values) {
            const trace::EventClass* const known = track.writer->find_class(ranges.class_id[i]);
            captured = captured_in(known, values.next(known));
          }
          const int64_t begin = track.ns(ranges.end[i] - ranges.duration[i]), end = track.ns(ranges.end[i]);
          if (!track.on_device) {
            if (work.launches.size() < DeviceWork::kMostOperations)
              work.launches.push_back({track.writer_number, track.number, correlation, begin, end, ranges.class_id[i]});
            continue;
          }
          const auto kind = kinds.of(track, ranges.class_id[i]);
          if (!kind) continue;
          if (++count > DeviceWork::kMostOperations) {
            ++work.left_out;
            continue;
          }
          work.devices[device_of[track.number]].operations.push_back(
              {begin, end, correlation, track.number, ranges.class_id[i], kNone, *kind, captured});
        }
      });
  for (Device& device : work.devices) {
    std::ranges::sort(device.operations, {}, &DeviceOperation::begin);
  }
  std::erase_if(work.devices, [](const Device& device) { return device.operations.empty(); });
  // If several calls have one correlation, the innermost is the launch: it begins last.
  const auto order = [](const Launch& a, const Launch& b) {
    return is_same(a, b) ? a.begin > b.begin : is_before(a, b);
  };
  if (!std::is_sorted(work.launches.begin(), work.launches.end(), order))
    std::sort(work.launches.begin(), work.launches.end(), order);
  find_launches(walk, work);
  for (Device& device : work.devices) measure_starts(work, device);
  return work;
}

Intervals times_of(const Device& device, WorkKind kind) {
  std::vector<Interval> all;
  for (const DeviceOperation& operation : device.operations)
    if (operation.kind == kind) all.push_back({operation.begin, operation.end});
  return Intervals(std::move(all));
}

namespace {

// Divides a gap of the device, in front of `next`.
class GapDivider {
 public:
  GapDivider(const DeviceWork& work, const Device& device, const Intervals& waits, const ProfilerTimes& profiler,
             DeviceTime& time)
      : work_(work), device_(device), waits_(waits), profiler_(profiler), time_(time) {}

  // `next`: the number of operations if none follows.
  void divide(const Interval& gap, size_t next) {
    next_ = next < device_.operations.size() ? static_cast<uint32_t>(next) : kNone;
    track_ = kNone;
    if (next_ == kNone) return add(IdleCause::NothingLeft, gap.begin, gap.end - gap.begin);
    const Launch* const launch = work_.launch_of(device_.operations[next]);
    if (launch == nullptr) return add(IdleCause::Unknown, gap.begin, gap.end - gap.begin);
    track_ = launch->track;
    const int64_t launched = std::clamp(launch->begin, gap.begin, gap.end);
    add_of_host(IdleCause::LateLaunch, gap.begin, launched);
    const Device::Start start = device_.start(*launch, gap.begin, gap.end);
    const int64_t ready = start.arrived > gap.begin ? start.ready : gap.begin;
    add_of_host(IdleCause::LaunchLatency, launched, ready);
    const int64_t waiting = static_cast<int64_t>(waits_.covered(ready, gap.end));
    add(IdleCause::Waiting, ready, waiting);
    add(IdleCause::Queued, ready, gap.end - ready - waiting);
  }

 private:
  // Idle time in which a profiler delayed the launch is not the program's.
  void add_of_host(IdleCause cause, int64_t begin, int64_t end) {
    const std::span<const Interval> costs = profiler_.on(track_).all();
    auto cost = std::partition_point(costs.begin(), costs.end(), [&](const Interval& one) { return one.end <= begin; });
    for (; cost != costs.end() && cost->begin < end; ++cost) {
      add(cause, begin, cost->begin - begin);
      time_.profiling_ns += static_cast<uint64_t>(std::min(cost->end, end) - std::max(cost->begin, begin));
      begin = cost->end;
    }
    add(cause, begin, end - begin);
  }

  void add(IdleCause cause, int64_t begin, int64_t length) {
    if (length <= 0) return;
    time_.idle_ns[static_cast<size_t>(cause)] += static_cast<uint64_t>(length);
    time_.gaps.push_back({begin, static_cast<uint64_t>(length), next_, track_, cause});
  }

  const DeviceWork& work_;
  const Device& device_;
  const Intervals& waits_;
  const ProfilerTimes& profiler_;
  DeviceTime& time_;
  uint32_t next_ = kNone, track_ = kNone;
};

// How many operations were launched and not finished, over the window.
void count_outstanding(const DeviceWork& work, const Device& device, DeviceTime& time) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const DeviceOperation& operation : device.operations) {
    const Launch* const launch = work.launch_of(operation);
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

std::string_view text_of(WorkKind kind) {
  constexpr std::string_view kTexts[] = {"compute", "communication", "copy", "wait"};
  return kTexts[static_cast<size_t>(kind)];
}

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

uint64_t DeviceTime::idle_total_ns() const { return std::accumulate(idle_ns.begin(), idle_ns.end(), profiling_ns); }

DeviceTime device_time(const DeviceWork& work, const Device& device, const Intervals& window,
                       const ProfilerTimes& profiler) {
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

  GapDivider divider(work, device, waits, profiler, time);
  auto next = device.operations.begin();
  const Intervals idle = difference(window, busy);
  for (const Interval& gap : idle.all()) {
    while (next != device.operations.end() && (next->begin < gap.end || next->kind == WorkKind::Wait)) ++next;
    divider.divide(gap, static_cast<size_t>(next - device.operations.begin()));
  }
  for (const DeviceOperation& operation : device.operations)
    if (operation.kind != WorkKind::Wait && window.covered(operation.begin, operation.end) > 0) ++time.operations;
  count_outstanding(work, device, time);
  return time;
}

}  // namespace kymo::analyze
