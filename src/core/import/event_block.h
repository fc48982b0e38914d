// A block of events of one track, as a reader adds them: 32 bytes for each, plus their values.
//
// A track is a list of blocks (trace_builder.h). Blocks of one track may have different tables, because several threads
// read a file.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "import/event_tables.h"
#include "trace/model.h"

namespace kymo::import {

struct ImportedRecord {
  enum class Kind : uint8_t { Range, Begin, End, Point, Dropped };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t start = 0;
  int64_t end = 0;        // of a range, or kNever; of a point: the id
  uint32_t values = 0;    // where its values begin, in the bytes of its block
  uint32_t class_id = 0;  // in the tables of its block
  uint32_t block = 0;     // its block, while a track is written
  Kind kind = Kind::Range;
  uint8_t point = 0;  // trace::PointKind; of a range: the first lane that it may be on
  bool has_correlation = false;
};
static_assert(sizeof(ImportedRecord) == 32);

// The order of the records of a track: by their starts; outer ranges before inner ones, and a range before the points
// at its start.
inline bool comes_first(const ImportedRecord& a, const ImportedRecord& b) {
  if (a.start != b.start) return a.start < b.start;
  const bool a_is_range = a.kind == ImportedRecord::Kind::Range, b_is_range = b.kind == ImportedRecord::Kind::Range;
  if (a_is_range != b_is_range) return a_is_range;
  return a_is_range && a.end > b.end;
}

// Not thread-safe.
struct EventBlock {
  const EventTables* tables = nullptr;
  std::vector<ImportedRecord> records;
  std::string bytes;       // the values of all records
  bool has_parts = false;  // begins, ends or dropped records
  uint64_t events = 0;     // records that are not ends
  uint64_t reversed = 0;   // ranges that ended before they began, and are empty now
  uint64_t beyond = 0;     // events whose times were out of range
  int64_t earliest = 0;    // time, or 0 if none is negative
  bool is_sorted = false;  // known by check_order()

  // Times are in nanoseconds and may be negative. `correlation` is a number of the process; 0: none.
  void range(EventTables& with, int64_t start, int64_t end, const ImportedEvent& event, uint64_t correlation);
  // A range without an end.
  void open_range(EventTables& with, int64_t start, const ImportedEvent& event, uint64_t correlation);
  // A range in two parts. The innermost open range of the track ends.
  void begin(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation);
  void end(int64_t time);
  void point(EventTables& with, int64_t time, trace::PointKind kind, uint64_t id, const ImportedEvent& event);
  // Takes back a record.
  void drop(ImportedRecord& record);
  // Finds out whether the records are sorted, so that the thread that writes them need not.
  void check_order();

  // Forgets what was added after size() was that. Keeps the memory.
  struct Size {
    size_t records = 0, bytes = 0;
    bool has_parts = false;
    uint64_t events = 0, reversed = 0, beyond = 0;
  };
  Size size() const { return {records.size(), bytes.size(), has_parts, events, reversed, beyond}; }
  void resize(const Size& size);

 private:
  ImportedRecord& add(EventTables& with, int64_t time, const ImportedEvent& event, uint64_t correlation);
  int64_t bounded(int64_t time);
};

}  // namespace kymo::import
