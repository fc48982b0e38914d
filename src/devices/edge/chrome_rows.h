// The rows of a Chrome file, each with a pid, a tid and names. They are the same as Kineto's: threads of the process
// have the system's ids; devices are separate processes, with their queues as threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/chrome_writer.h"
#include "edge/rows.h"

namespace kymo::edge {

class ChromeRows {
 public:
  ChromeRows(const ResultData& result, const Rows& rows);

  // For the events of ChromeWriter.
  const std::string& of(uint32_t track, uint32_t lane) const { return tracks_[track].lanes[lane].text; }
  const std::string& of(const RowPlace& place) const { return of(place.track, place.lane); }
  uint64_t pid(uint32_t track) const { return tracks_[track].pid; }

  // The names and the order of all rows.
  void write(convert::KinetoChromeWriter& writer) const;

 private:
  struct Process {
    uint64_t pid = 0;
    std::string name, label;
    uint64_t order = 0;
  };
  struct Row {
    std::string text, name;
    uint64_t order = 0;
  };
  struct Track {
    uint64_t pid = 0;
    std::vector<Row> lanes;
  };

  std::vector<Process> processes_;
  std::vector<Track> tracks_;  // as in Rows
};

// "Vulkan 0"; "device 42:0" for a kind without a name.
std::string device_text(const DeviceId& device);

}  // namespace kymo::edge
