#include "edge/chrome_rows.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "convert/device_types.h"
#include "convert/row_numbers.h"

namespace kymo::edge {
namespace {

using convert::KinetoChromeWriter;
using convert::RowNumbers;

std::string track_text(const RowTrack& track) {
  if (track.on_device) return base::format("stream {} ", track.queue);
  return track.name.empty() ? base::format("thread {}", track.thread)
                            : base::format("thread {} ({})", track.thread, track.name);
}

}  // namespace

std::string device_text(const DeviceId& device) { return convert::device_label({device.type, device.index}); }

ChromeRows::ChromeRows(const ResultData& result, const Rows& rows) {
  struct Group {
    uint64_t pid = 0;
    RowNumbers tids;
  };
  RowNumbers pids;
  Group process{pids.claim(result.pid), {}};
  const bool is_this = result.pid == static_cast<uint64_t>(getpid());
  processes_.push_back({process.pid, is_this ? program_invocation_short_name : "process", "CPU", process.pid});

  // Threads get their numbers first; numbers for other rows are made up afterwards.
  std::map<std::pair<int32_t, int32_t>, Group> devices;
  for (const RowTrack& track : rows.tracks) {
    Group* group = &process;
    if (track.on_device) {
      const auto [entry, is_new] = devices.try_emplace({track.device.type, track.device.index});
      group = &entry->second;
      if (is_new) {
        group->pid = pids.claim_from(static_cast<uint64_t>(std::max(track.device.index, 0)));
        const std::string name = device_text(track.device);
        processes_.push_back({group->pid, name, name, convert::kFirstDeviceOrder + devices.size() - 1});
      }
    }
    const uint64_t tid = group->tids.claim(track.on_device ? track.queue : track.thread);
    tracks_.push_back({group->pid, {{KinetoChromeWriter::row(group->pid, tid), track_text(track), tid}}});
  }
  for (size_t i = 0; i < rows.tracks.size(); ++i) {
    const RowTrack& track = rows.tracks[i];
    Group& group = track.on_device ? devices.at({track.device.type, track.device.index}) : process;
    const uint64_t order = std::min(track.on_device ? track.queue : track.thread, RowNumbers::kLargest);
    for (uint32_t lane = 1; lane < track.lanes; ++lane) {
      const std::string row = KinetoChromeWriter::row(group.pid, group.tids.invent());
      tracks_[i].lanes.push_back({row, base::format("{}, overlapping {}", track_text(track), lane), order});
    }
  }
}

void ChromeRows::write(KinetoChromeWriter& writer) const {
  for (const Process& process : processes_)
    writer.name_process(process.pid, process.name, process.label, process.order);
  for (const Track& track : tracks_)
    for (const Row& row : track.lanes) writer.name_row(row.text, row.name, row.order);
}

}  // namespace kymo::edge
