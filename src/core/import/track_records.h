// The events of one track in order, while they are written.
//
// Readers mostly add events in order. Then the blocks stay as they are. Otherwise all records move into one list, which
// is sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "import/event_block.h"

namespace kymo::import {

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

}  // namespace kymo::import
