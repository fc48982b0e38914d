// The rows of a Chrome file: a pid and a tid each, with names. Kineto's: threads of the process by the system's ids,
// devices as processes of their own with their queues as threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/json_text.h"
#include "edge/rows.h"

namespace kymo::edge {

class ChromeRows {
 public:
  ChromeRows(const ResultData& result, const Rows& rows);

  // `"pid": 7, "tid": 12`
  const std::string& of(uint32_t track, uint32_t lane) const { return tracks_[track].rows[lane]; }
  const std::string& of(const RowPlace& place) const { return of(place.track, place.lane); }
  uint64_t pid(uint32_t track) const { return tracks_[track].pid; }

  // Names and order of all of them: an event each, as `put` is given it.
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
