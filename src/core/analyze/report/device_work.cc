#include "analyze/report/device_work.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

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
      const auto known = track.writer->classes.find(class_id);
      if (known != track.writer->classes.end()) entry->second = work_kind(known->second.category, known->second.name);
    }
    return entry->second;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::optional<WorkKind>> kinds_;
};

auto key_of(const Launch& launch) { return std::tie(launch.writer_number, launch.correlation); }

}  // namespace

std::optional<WorkKind> work_kind(std::string_view category, std::string_view name) {
  if (category == "gpu_user_annotation" || category == "device range" || category == "cuda_event") return std::nullopt;
  if (category == "cuda_sync" || category == "sync") return WorkKind::Wait;
  if (contains_word(name, "nccl") || contains_word(name, "rccl") || category == "collective_comm")
    return WorkKind::Communication;
  if (category == "gpu_memcpy" || category == "gpu_memset" || category == "copy" || category == "fill")
    return WorkKind::Copy;
  return WorkKind::Compute;
}

const Launch* DeviceWork::launch_of(const EventWalk& walk, const DeviceOperation& operation) const {
  if (operation.correlation == 0) return nullptr;
  Launch wanted;
  wanted.writer_number = walk.tracks()[operation.track].writer_number;
  wanted.correlation = operation.correlation;
  const auto at = std::lower_bound(launches.begin(), launches.end(), wanted,
                                   [](const Launch& a, const Launch& b) { return key_of(a) < key_of(b); });
  return at != launches.end() && key_of(*at) == key_of(wanted) ? &*at : nullptr;
}

std::optional<uint32_t> launching_track(const DeviceWork& work) {
  std::map<uint32_t, size_t> counts;
  for (const Launch& launch : work.launches) ++counts[launch.track];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

DeviceWork read_device_work(EventWalk& walk) {
  DeviceWork work;
  std::map<std::string, uint32_t> numbers;
  std::vector<uint32_t> device_of(walk.tracks().size());
  bool any = false;
  for (const TrackOfTrace& track : walk.tracks()) {
    if (!track.on_device) continue;
    any = true;
    const auto [entry, is_new] =
        numbers.try_emplace(track.track->device_uuid, static_cast<uint32_t>(work.devices.size()));
    if (is_new) work.devices.push_back({track.track->device().empty() ? "device" : track.track->device(), {}});
    device_of[track.number] = entry->second;
  }
  if (!any) return work;

  Kinds kinds;
  size_t count = 0;
  walk.each(
      trace::kRangeTimes | trace::kRangeClasses | trace::kRangeCorrelations, [](const TrackOfTrace&) { return true; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const trace::Ranges& ranges = batch.ranges;
        if (!track.on_device && ranges.correlation.empty()) return;
        for (size_t i = 0; i < ranges.size(); ++i) {
          const uint64_t correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
          if (!track.on_device && correlation == 0) continue;
          const int64_t begin = track.ns(ranges.end[i] - ranges.duration[i]), end = track.ns(ranges.end[i]);
          if (!track.on_device) {
            if (work.launches.size() < DeviceWork::kMostOperations)
              work.launches.push_back({track.writer_number, track.number, correlation, begin, end});
            continue;
          }
          const auto kind = kinds.of(track, ranges.class_id[i]);
          if (!kind) continue;
          if (++count > DeviceWork::kMostOperations) {
            ++work.left_out;
            continue;
          }
          work.devices[device_of[track.number]].operations.push_back(
              {begin, end, correlation, track.number, ranges.class_id[i], *kind});
        }
      });
  for (Device& device : work.devices) {
    std::sort(device.operations.begin(), device.operations.end(),
              [](const DeviceOperation& a, const DeviceOperation& b) { return a.begin < b.begin; });
  }
  std::erase_if(work.devices, [](const Device& device) { return device.operations.empty(); });
  // If several calls have one correlation, the innermost is the launch: it begins last.
  std::sort(work.launches.begin(), work.launches.end(), [](const Launch& a, const Launch& b) {
    return key_of(a) != key_of(b) ? key_of(a) < key_of(b) : a.begin > b.begin;
  });
  return work;
}

}  // namespace kymo::analyze
