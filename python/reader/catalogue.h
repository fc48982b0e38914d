// The names and tracks of all writers of a trace, numbered for columns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::python {

// Equal names of several writers have one number. Names of class 0, which are in the events, are added while events are
// read: add() may be called by several threads.
class NameTable {
 public:
  int32_t add(std::string_view name);
  std::vector<std::string> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t> numbers_;
};

struct TrackEntry {
  uint64_t pid = 0, tid = 0;
  std::string kind, name, device;
};

class Catalogue {
 public:
  explicit Catalogue(const trace::Reader& reader);

  // Of one track: its number, its clock, and the name of each of its writer's classes (-1: none).
  struct Place {
    int32_t track = 0;
    const trace::ClockMap* clock = nullptr;
    const std::vector<int32_t>* class_names = nullptr;
  };
  const Place* find(const trace::EventChunk& chunk) const;  // null: the chunk belongs to no known track

  NameTable& names() const { return *names_; }
  const std::vector<TrackEntry>& tracks() const { return tracks_; }

 private:
  std::unique_ptr<NameTable> names_ = std::make_unique<NameTable>();
  std::vector<TrackEntry> tracks_;
  std::map<std::pair<trace::WriterId, uint32_t>, Place> places_;
  std::map<std::pair<trace::WriterId, uint32_t>, trace::ClockMap> clocks_;
  std::map<trace::WriterId, std::vector<int32_t>> class_names_;
};

}  // namespace kymo::python
