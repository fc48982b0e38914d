// One chunk of a trace for a viewer: all its ranges, or a sketch of them.
//
// A sketch has bins of 2^level ns, at most kSketchBins over the ends of the chunk's ranges. Ranges that are as long as
// a bin are kept one by one; shorter ones that start in the same bin are one run. Bins of all levels are aligned to
// powers of two, so a coarser level can be computed from a sketch exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "trace/model.h"

namespace kymo::serve {

// What a tile is made of: ranges, and runs of ranges that are too short to be seen.

inline constexpr uint32_t kNoText = UINT32_MAX, kNoIndex = UINT32_MAX, kNoChunk = UINT32_MAX;
// Numbers of events in a chunk (Item::index): ranges from 0, points from kPointIndex, ranges that have not ended from
// kOpenIndex. A chunk has at most 4 Mi of each.
inline constexpr uint32_t kPointIndex = 0x40000000, kOpenIndex = 0x80000000;

inline uint64_t event_key(uint32_t chunk, uint32_t index) { return uint64_t{chunk} << 32 | index; }

// One range, or a run of ranges of one row. Times are nanoseconds since the start of the file.
struct Item {
  int64_t start = 0, end = 0;
  int64_t total = 0;    // of the durations
  int64_t longest = 0;  // its name, text and index are those of the run
  uint32_t name = 0;    // of the class
  uint32_t text = kNoText;
  uint32_t count = 1;
  uint32_t chunk = kNoChunk, index = kNoIndex;
  uint16_t depth = 0, lane = 0;

  // A range with these times; its end is not before its start.
  static Item single(int64_t start, int64_t end, uint32_t name, uint32_t chunk, uint32_t index, uint16_t depth = 0) {
    const int64_t length = std::max(start, end) - start;
    return {start, start + length, length, length, name, kNoText, 1, chunk, index, depth, 0};
  }
  bool same_row(const Item& other) const { return depth == other.depth && lane == other.lane; }
  void merge(const Item& other) {
    start = std::min(start, other.start);
    end = std::max(end, other.end);
    total += other.total;
    count += std::min(other.count, UINT32_MAX - count);
    if (other.longest > longest) {
      longest = other.longest;
      name = other.name;
      text = other.text;
      chunk = other.chunk;
      index = other.index;
    }
  }
};

inline uint64_t row_of(const Item& item) { return uint64_t{item.lane} << 16 | item.depth; }

// The bin of a time, at a level whose bins are 2^level ns long.
inline int64_t bin_of(int64_t ns, unsigned level) { return ns >> level; }

// Merges each value into the one before it if they are the same in some sense.
template <typename Value, typename Same>
void merge_neighbours(std::vector<Value>& values, Same&& are_same) {
  size_t kept = 0;
  for (const Value& value : values) {
    if (kept > 0 && are_same(values[kept - 1], value))
      values[kept - 1].merge(value);
    else
      values[kept++] = value;
  }
  values.resize(kept);
}

// The last value of each row, so that neighbours in one bin are merged without a search. Rows of a chunk come in the
// order of time; where they do not, a bin has several runs, which are merged when a tile is finished.
template <typename Value>
class LastOfRow {
 public:
  explicit LastOfRow(std::vector<Value>& values) : values_(values) {}

  // The last value of a row, if it is in this bin.
  Value* find(uint64_t row, int64_t bin) {
    const Last& last = last_of(row);
    return last.bin == bin && last.position != SIZE_MAX ? &values_[last.position] : nullptr;
  }
  void add(uint64_t row, const Value& value, int64_t bin) {
    if (Value* const known = find(row, bin)) return known->merge(value);
    last_of(row) = {values_.size(), bin};
    values_.push_back(value);
  }

 private:
  static constexpr uint64_t kTable = 1024;
  struct Last {
    size_t position = SIZE_MAX;
    int64_t bin = 0;
  };
  Last& last_of(uint64_t row) {
    if (row >= kTable) return others_[row];
    if (row >= table_.size()) table_.resize(row + 1);
    return table_[row];
  }

  std::vector<Value>& values_;
  std::vector<Last> table_;
  std::unordered_map<uint64_t, Last, base::SeededHash> others_;
};

// A range that is shorter than a bin is part of a run.
inline bool is_single(const Item& item, unsigned level) { return item.count == 1 && item.longest >> level != 0; }

inline constexpr int64_t kSketchBins = 128;

// Which names a chunk may have, as bits: name_bit() of each of them, and whether some names are stored with their
// events.
// Three more bits say which points it has.
inline constexpr uint64_t kHasStoredNames = uint64_t{1} << 63, kNamesAreKnown = uint64_t{1} << 62;
inline constexpr uint64_t kHasAllocations = uint64_t{1} << 61, kHasRangesAcross = uint64_t{1} << 60;
inline uint64_t name_bit(uint32_t name) { return uint64_t{1} << (name % 60); }

// Values of one counter in one bin.
struct CounterBin {
  int64_t time = 0, last_time = 0;
  double min = 0, max = 0, last = 0;
  uint32_t class_id = 0, count = 1;

  void merge(const CounterBin& other);
};

// Points of one kind in one bin.
struct InstantBin {
  int64_t time = 0;
  uint32_t name = 0;  // of the first one
  uint32_t count = 1;
  uint32_t chunk = kNoChunk, index = kNoIndex;
  trace::PointKind kind = trace::PointKind::Instant;

  void merge(const InstantBin& other);
};

// A chunk with all its events, in the order of the file. Its ranges are columns, because there may be many.
struct DecodedChunk {
  uint32_t chunk = kNoChunk;
  std::vector<int64_t> start, end;
  std::vector<uint32_t> name;
  std::vector<uint16_t> depth;
  std::vector<uint16_t> lane;  // empty: all 0
  std::vector<uint32_t> text;  // positions in `texts`, or kNoText; empty: no range has a text
  std::vector<InstantBin> instants;
  std::vector<CounterBin> counters;
  std::vector<std::string> texts;
  bool damaged = false;
  uint64_t name_bits = 0;

  size_t range_count() const { return start.size(); }
  Item range(size_t i) const;
  size_t bytes() const;
};

struct Sketch {
  unsigned level = 0;
  std::vector<Item> items;  // of each row in the order of the chunk
  std::vector<InstantBin> instants;
  std::vector<CounterBin> counters;
  std::vector<std::string> texts;
  bool damaged = false;
  uint64_t name_bits = 0;  // of the whole chunk

  // True if the sketch is exact for bins of this level between the two times.
  bool is_exact(unsigned for_level, int64_t from, int64_t to) const;
  size_t bytes() const;
};

// The level of a sketch of events that end between these times.
unsigned sketch_level(int64_t first_end, int64_t last_end);
// What is between two times: ranges that touch them, runs and points that start there. For bins of this level that is
// all that a tile needs, so a request does not keep whole chunks.
Sketch make_sketch(const DecodedChunk& chunk, unsigned level, int64_t from = 0, int64_t to = INT64_MAX);

}  // namespace kymo::serve
