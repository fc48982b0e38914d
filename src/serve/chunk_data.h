// One chunk of a trace for a viewer: all its ranges, or a sketch of them.
//
// A sketch has bins of 2^level ns, at most kSketchBins over the ends of the chunk's ranges. Ranges that are as long as
// a bin are kept one by one; shorter ones that start in the same bin are one run. Bins of all levels are aligned to
// powers of two, so a coarser level can be computed from a sketch exactly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/item.h"
#include "trace/model.h"

namespace kymo::serve {

inline constexpr int64_t kSketchBins = 128;

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

// A chunk with all its events, in the order of the file.
struct DecodedChunk {
  std::vector<Item> ranges;  // of each the count is 1
  std::vector<InstantBin> instants;
  std::vector<CounterBin> counters;
  std::vector<std::string> texts;  // Item::text
  bool damaged = false;

  size_t bytes() const;
};

struct Sketch {
  unsigned level = 0;
  std::vector<Item> items;  // of each row in the order of the chunk
  std::vector<InstantBin> instants;
  std::vector<CounterBin> counters;
  std::vector<std::string> texts;
  bool damaged = false;

  // True if the sketch is exact for bins of this level between the two times.
  bool is_exact(unsigned for_level, int64_t from, int64_t to) const;
  size_t bytes() const;
};

// The level of a sketch of events that end between these times.
unsigned sketch_level(int64_t first_end, int64_t last_end);
Sketch make_sketch(DecodedChunk&& chunk, unsigned level);

}  // namespace kymo::serve
