// Writes the events of one track: sorts them, nests the ranges, and cuts them into chunks.
//
// Ranges that overlap without one being inside the other go to different lanes, as in every Kymo trace. The chunks of
// lane 0 have the points, and list what is open at their ends. The other lanes have chunks of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "import/trace_builder.h"
#include "trace/writer.h"

namespace kymo::import {

class TrackWriter {
 public:
  static constexpr uint32_t kClock = 1;

  // What all tracks of a process share.
  struct Target {
    trace::Writer& writer;
    trace::WriterId id;
    const std::deque<trace::EventClass>& classes;
    const Texts& texts;
    int64_t shift = 0;          // ticks are times plus this
    std::vector<bool> written;  // classes that this writer has written
  };

  TrackWriter(Target& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // Makes ranges of begins and ends.
  static void pair_ends(std::vector<ImportedRecord>& records);

  // Changes the order of the records.
  void write(TrackEvents& events);

 private:
  struct Placed {  // a range of a lane above 0
    uint32_t record;
    uint16_t lane, depth;
  };

  void place_ranges();
  int64_t last_end();
  void write_row();
  void write_lanes();
  void end_before(int64_t time, bool also_at);
  void append_range(const ImportedRecord& record, uint16_t depth, uint16_t lane);
  void append_point(const ImportedRecord& record);
  uint64_t append_values(const ImportedRecord& record, trace::Values& to);
  void need_class(uint32_t class_id);
  trace::OpenRange open_range(const ImportedRecord& record, size_t& text_left);
  uint64_t ticks(int64_t time) const { return static_cast<uint64_t>(time + target_.shift); }
  void flush_if_large();
  void flush();

  Target& target_;
  TrackEvents* events_ = nullptr;
  std::optional<int64_t> last_end_;
  std::vector<Placed> lanes_;
  std::vector<uint32_t> open_;  // records of lane 0, outermost first
  std::vector<trace::EventClass> new_classes_;
  trace::EventBatch batch_;
};

}  // namespace kymo::import
