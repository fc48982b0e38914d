// Writes the events of one track: nests the ranges, and cuts the events into chunks.
//
// Ranges that overlap without one being inside the other go to different lanes, as in every Kymo trace. The chunks of
// lane 0 have the points, and list what is open at their ends. The other lanes have chunks of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "import/chunk_queue.h"
#include "import/event_tables.h"
#include "trace/model.h"

namespace kymo::import {

// The events of one track in order, while they are written.
//
// Readers mostly add events in order. Then the blocks stay as they are. Otherwise all records move into one list, which
// is sorted.
class TrackRecords {
 public:
  explicit TrackRecords(std::vector<EventBlock> blocks);

  // Makes ranges of begins and ends, and removes what was dropped. A begin without an end becomes a range that never
  // ends. Returns the number of ends without a begin.
  uint64_t pair_ends();
  void sort();  // by comes_first()

  // The blocks again, with all records.
  std::vector<EventBlock> take_blocks();

  // Calls visit(record) in order.
  template <typename Visit>
  void for_each(Visit&& visit) {
    if (is_flat_) {
      for (ImportedRecord& record : flat_) visit(record);
      return;
    }
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      for (ImportedRecord& record : blocks_[i].records) {
        record.block = i;
        visit(record);
      }
    }
  }
  // Of a record that for_each() has visited.
  const EventTables& tables(const ImportedRecord& record) const { return *blocks_[record.block].tables; }
  const char* values(const ImportedRecord& record) const { return blocks_[record.block].bytes.data() + record.values; }

 private:
  void flatten();
  void number_blocks();

  std::vector<EventBlock> blocks_;
  std::vector<ImportedRecord> flat_;
  bool is_flat_ = false, is_sorted_ = true;
};

class TrackWriter {
 public:
  static constexpr uint32_t kClock = 1;

  // What all tracks of a process share.
  struct Target {
    ChunkQueue& queue;
    trace::WriterId id;
    uint32_t process = 0;  // its number, from 1 on
    ClassNumbers& classes;
    int64_t shift = 0;          // ticks are times plus this
    std::vector<bool> written;  // classes that this writer has written
  };

  TrackWriter(Target& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // The records are sorted, and have no begins and ends.
  void write(TrackRecords& records);

 private:
  struct Placed {  // a range of a lane above 0
    const ImportedRecord* record;
    uint16_t lane, depth;
  };

  void place_ranges();
  int64_t last_end();
  void write_row();
  void write_lanes();
  void end_before(int64_t time, bool also_at);
  void append_range(const ImportedRecord& record, uint16_t depth, uint16_t lane);
  void append_point(const ImportedRecord& record);
  uint64_t append_values(const ImportedRecord& record, const ClassNumbers::Known& of, trace::Values& to);
  const ClassNumbers::Known& class_of(const ImportedRecord& record);
  trace::OpenRange open_range(const ImportedRecord& record, size_t& text_left);
  uint64_t ticks(int64_t time) const { return static_cast<uint64_t>(time + target_.shift); }
  void flush_if_large();
  void flush();

  Target& target_;
  TrackRecords* records_ = nullptr;
  std::optional<int64_t> last_end_;
  std::vector<Placed> lanes_;
  std::vector<const ImportedRecord*> open_;  // of lane 0, outermost first
  std::vector<trace::EventClass> new_classes_;
  trace::EventBatch batch_;
};

}  // namespace kymo::import
