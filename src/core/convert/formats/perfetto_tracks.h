// The tracks of a Perfetto trace: which exist, their parents, and their ids.
//
//   process ── thread ── lane            ranges that overlap others of their thread
//      │
//      ├────── counter                   one for each category and name
//      └────── ranges across threads     as many as overlap, for each class
//   device ─── queue ── lane
//
// Each track is described in a packet before its first event. A uuid is a hash of the track's identity. So merged
// exports of the same process agree, and exports of different processes do not collide. Perfetto may show siblings of
// one name as one track. So names of siblings differ ("request", "request (2)"), and tracks ask not to be merged.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "convert/events.h"
#include "convert/places.h"

namespace kymo::convert {

class PerfettoTracks {
 public:
  // Descriptions are appended to `out` when they are needed.
  PerfettoTracks(const trace::Reader& reader, std::string& out) : reader_(reader), out_(out) {}

  void describe_all(const Places& places);

  static uint64_t uuid_of(const Group& group);
  static uint64_t uuid_of(const Place& place);
  uint64_t lane(const Place& place, uint16_t lane);
  struct Counter {
    uint64_t uuid = 0;
    bool is_double = false;  // classes of this name have different types, or doubles
  };
  Counter counter(const Point& point);
  // A counter of bytes that the trace itself does not have.
  uint64_t bytes_in_use(const Group& group, const std::string& name);
  // A track that is free from start_ns. It is in use until end_ns then.
  uint64_t async(const AsyncRange& range);

 private:
  struct Description;
  void describe(const Description& description);
  std::string unique_name(uint64_t parent, std::string_view name);
  void describe_counter(const Group& group, const Counter& counter, std::string_view name, std::string_view category,
                        bool counts_bytes);
  bool has_doubles(const Group& group, const trace::EventClass& event_class) const;

  const trace::Reader& reader_;
  std::string& out_;
  std::map<std::pair<uint32_t, uint16_t>, uint64_t> lanes_;
  std::map<std::tuple<uint32_t, std::string, std::string>, Counter> counters_;  // by group, category and name
  std::map<std::pair<uint32_t, uint32_t>, Counter> class_counters_;             // the same, by group and class
  std::set<std::pair<uint64_t, std::string>> names_;                            // of tracks, with their parents
  // For each group and class: the tracks, by the time from which they are free.
  std::map<std::pair<uint32_t, uint32_t>, std::multimap<int64_t, uint64_t>> async_;
};

}  // namespace kymo::convert
