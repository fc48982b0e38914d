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
// read: add() may be called by several threads. Names are readable text, as in `kymo query`: what is not UTF-8, and
// zero bytes, are replacement characters.
class NameTable {
 public:
  int32_t add(std::string_view name);
  int32_t find(std::string_view name) const;  // -1: no name of the trace, as far as it was read
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
  static constexpr std::string_view kUnknownClass = "(unknown class)";  // as in analyze/stats.h

  explicit Catalogue(const trace::Reader& reader);

  // Of one track: its number, its clock, and the name of each of its writer's classes (-1: none).
  struct Place {
    int32_t track = 0;
    const trace::ClockMap* clock = nullptr;
    const std::vector<int32_t>* class_names = nullptr;
  };
  // Null: the chunk belongs to no known track, or its clock has no rate. The reader has reported it.
  const Place* find(const trace::EventChunk& chunk) const;

  // The name of a class of the track's writer; kUnknownClass if the trace does not describe it.
  int32_t name_of(const Place& place, uint32_t class_id) const {
    const std::vector<int32_t>& known = *place.class_names;
    return class_id < known.size() && known[class_id] >= 0 ? known[class_id] : names_->add(kUnknownClass);
  }

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
