// What a tile is made of: ranges, and runs of ranges that are too short to be seen.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kymo::serve {

inline constexpr uint32_t kNoText = UINT32_MAX, kNoIndex = UINT32_MAX, kNoChunk = UINT32_MAX;
// Numbers of events in a chunk (Item::index): ranges from 0, points from kPointIndex, ranges that have not ended from
// kOpenIndex. A chunk has at most 4 Mi of each.
inline constexpr uint32_t kPointIndex = 0x40000000, kOpenIndex = 0x80000000;

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

// The bin of a time, at a level whose bins are 2^level ns long.
inline int64_t bin_of(int64_t ns, unsigned level) { return ns >> level; }

// A range that is shorter than a bin is part of a run.
inline bool is_single(const Item& item, unsigned level) { return item.count == 1 && item.longest >> level != 0; }

}  // namespace kymo::serve
