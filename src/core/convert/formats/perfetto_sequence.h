// One packet sequence of a Perfetto trace: its number, and the names that it has already defined.
//
// A sequence writes a name once, and after that only its number. The definition must be in the same packet as the first
// use or in an earlier one, so the sequence collects definitions while an event is built and writes them into its
// packet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "convert/events.h"

namespace kymo::convert {

class PerfettoSequence {
 public:
  // Timestamps use `clock_id`. Events without a track are on `track_uuid`.
  PerfettoSequence(uint32_t id, uint32_t clock_id, uint64_t track_uuid)
      : id_(id), clock_id_(clock_id), track_uuid_(track_uuid) {}

  uint64_t track_uuid() const { return track_uuid_; }

  // True if this is the first event of this class here. Called for every event, so that its names need not be checked.
  bool is_first_use(uint32_t class_index) { return classes_.insert(class_index).second; }

  // Each returns `iid`, and defines it if this is the first time.
  uint64_t event_name(uint64_t iid, std::string_view text);
  uint64_t category(uint64_t iid, std::string_view text);
  uint64_t annotation_name(uint64_t iid, std::string_view text);
  uint64_t annotation_text(uint64_t iid, std::string_view text);

  // Appends a packet with this encoded TrackEvent and its new definitions.
  void append_event(std::string& out, int64_t time_ns, const std::string& track_event);

 private:
  uint64_t define(std::unordered_set<uint64_t>& defined, uint32_t field, uint64_t iid, std::string_view text);

  const uint32_t id_, clock_id_;
  const uint64_t track_uuid_;
  bool started_ = false;
  std::unordered_set<uint32_t> classes_;
  std::unordered_set<uint64_t> event_names_, categories_, annotation_names_, annotation_texts_;
  std::string definitions_;  // an encoded InternedData
};

}  // namespace kymo::convert
