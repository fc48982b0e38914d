#include "edge/chrome_rows.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace kymo::edge {
namespace {

// Viewers store numbers in 32 bits, signed. Linux uses no ids above 2^22, so invented ids begin well above that.
constexpr uint64_t kLargestNumber = std::numeric_limits<int32_t>::max();
constexpr uint64_t kFirstMadeUp = 10'000'000;
constexpr uint64_t kFirstDeviceOrder = 5'000'000;  // as in Kineto: after all processes

// Hands out each number once: the one wanted, or one that is made up.
class RowNumbers {
 public:
  uint64_t claim(uint64_t wanted) {
    if (wanted <= kLargestNumber && taken_.insert(wanted).second) return wanted;
    return make_up();
  }
  uint64_t claim_from(uint64_t lowest) {
    while (!taken_.insert(lowest).second) ++lowest;
    return lowest;
  }
  uint64_t make_up() {
    while (!taken_.insert(next_).second) ++next_;
    return next_++;
  }

 private:
  std::set<uint64_t> taken_;
  uint64_t next_ = kFirstMadeUp;
};

std::string row_text(uint64_t pid, uint64_t tid) { return base::format("\"pid\": {}, \"tid\": {}", pid, tid); }

std::string chrome_arg(std::string_view key, std::string_view value) {
  base::TextBuffer text;
  base::append_json_string(text, key);
  base::append(text, ": ");
  base::append_json_string(text, value);
  return text.string();
}

std::string track_text(const RowTrack& track) {
  if (track.on_device) return base::format("stream {} ", track.queue);
  return track.name.empty() ? base::format("thread {}", track.thread)
                            : base::format("thread {} ({})", track.thread, track.name);
}

std::string lane_text(const RowTrack& track, uint32_t lane) {
  if (lane == 0) return track_text(track);
  return base::format("{}, overlapping {}", track_text(track), lane);
}

}  // namespace

std::string device_text(const DeviceId& device) {
  // As the numbers of Kineto's device types go.
  constexpr std::array<const char*, 14> kNames{"CPU",  "CUDA", "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "HIP",
                                               "FPGA", "MAIA", "XLA",    "Vulkan", "Metal",  "XPU",   "MPS"};
  const int32_t index = std::max(device.index, 0);
  if (device.type < 0 || device.type >= static_cast<int32_t>(kNames.size()))
    return base::format("device {}:{}", device.type, index);
  return base::format("{} {}", kNames[static_cast<size_t>(device.type)], index);
}

ChromeRows::ChromeRows(const ResultData& result, const Rows& rows) {
  struct Group {
    uint64_t pid = 0;
    RowNumbers tids;
  };
  RowNumbers pids;
  Group process{pids.claim(result.pid), {}};
  const bool is_this = result.pid == static_cast<uint64_t>(getpid());
  describe_process(process.pid, is_this ? program_invocation_short_name : "process", "CPU", process.pid);

  // Threads take their numbers before anything is made up.
  std::map<std::pair<int32_t, int32_t>, Group> devices;
  for (const RowTrack& track : rows.tracks) {
    Group* group = &process;
    if (track.on_device) {
      const auto [entry, is_new] = devices.try_emplace({track.device.type, track.device.index});
      group = &entry->second;
      if (is_new) {
        group->pid = pids.claim_from(static_cast<uint64_t>(std::max(track.device.index, 0)));
        const std::string name = device_text(track.device);
        describe_process(group->pid, name, name, kFirstDeviceOrder + devices.size() - 1);
      }
    }
    const uint64_t tid = group->tids.claim(track.on_device ? track.queue : track.thread);
    tracks_.push_back({group->pid, {row_text(group->pid, tid)}});
    describe_row(tracks_.back().rows[0], track_text(track), tid);
  }
  for (size_t i = 0; i < rows.tracks.size(); ++i) {
    const RowTrack& track = rows.tracks[i];
    Group& group = track.on_device ? devices.at({track.device.type, track.device.index}) : process;
    for (uint32_t lane = 1; lane < track.lanes; ++lane) {
      const std::string& row = tracks_[i].rows.emplace_back(row_text(group.pid, group.tids.make_up()));
      describe_row(row, lane_text(track, lane), std::min(track.on_device ? track.queue : track.thread, kLargestNumber));
    }
  }
}

void ChromeRows::describe_process(uint64_t pid, std::string_view name, std::string_view label, uint64_t order) {
  const std::string row = row_text(pid, 0);
  descriptions_.push_back({"process_name", row, chrome_arg("name", name)});
  descriptions_.push_back({"process_labels", row, chrome_arg("labels", label)});
  descriptions_.push_back({"process_sort_index", row, base::format("\"sort_index\": {}", order)});
}

void ChromeRows::describe_row(const std::string& row, std::string_view name, uint64_t order) {
  descriptions_.push_back({"thread_name", row, chrome_arg("name", name)});
  descriptions_.push_back({"thread_sort_index", row, base::format("\"sort_index\": {}", order)});
}

}  // namespace kymo::edge
