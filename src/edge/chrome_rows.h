// The rows of a Chrome file, each with a pid, a tid and names. They are the same as Kineto's: threads of the process
// have the system's ids; devices are separate processes, with their queues as threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "edge/rows.h"

namespace kymo::edge {

class ChromeRows {
 public:
  ChromeRows(const ResultData& result, const Rows& rows);

  // `"pid": 7, "tid": 12`
  const std::string& of(uint32_t track, uint32_t lane) const { return tracks_[track].rows[lane]; }
  const std::string& of(const RowPlace& place) const { return of(place.track, place.lane); }
  uint64_t pid(uint32_t track) const { return tracks_[track].pid; }

  // The names and the order of all rows: calls `put` with one event for each.
  template <class Put>
  void describe(Put&& put) const {
    for (const Description& one : descriptions_) put(one.what, one.row, one.arg);
  }

 private:
  struct Description {
    const char* what;      // "thread_name"
    std::string row, arg;  // `"name": "thread 12 (main)"`
  };
  struct Track {
    uint64_t pid = 0;
    std::vector<std::string> rows;  // by lane
  };
  void describe_process(uint64_t pid, std::string_view name, std::string_view label, uint64_t order);
  void describe_row(const std::string& row, std::string_view name, uint64_t order);

  std::vector<Track> tracks_;
  std::vector<Description> descriptions_;
};

// "Vulkan 0"; "device 42:0" for a kind without a name.
std::string device_text(const DeviceId& device);

}  // namespace kymo::edge
