// Collects the content of one tile: merges ranges that are shorter than a bin into runs, in any order of input.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "serve/chunk_data.h"
#include "serve/item.h"

namespace kymo::serve {

struct TileSpan {
  unsigned level = 0;  // a bin has 2^level ns
  int64_t from = 0, to = 0;

  static constexpr unsigned kBinsLog2 = 10, kMaxLevel = 52;
  // Tile numbers beyond last_tile(level) have no time that fits into 63 bits.
  static uint64_t last_tile(unsigned level) { return (uint64_t{INT64_MAX} >> (level + kBinsLog2)) - 1; }
  static TileSpan of(unsigned level, uint64_t tile);
};

class TileRows {
 public:
  static constexpr size_t kMaxItems = 20'000;

  explicit TileRows(const TileSpan& span) : span_(span) {}

  // True if the item is in this tile: a range that touches it, or a run that starts in it.
  bool takes(const Item& item) const {
    return is_single(item, span_.level) ? item.start < span_.to && item.end > span_.from
                                        : item.start >= span_.from && item.start < span_.to;
  }
  // The item must be one that the tile takes.
  void add(const Item& item);
  void add(const InstantBin& instant);
  void add(const CounterBin& value);
  // The value that a counter has at the start of the tile. It stays the first one.
  void add_before(const CounterBin& value) { before_ = value; }

  // Sorts and merges. Rectangles are sorted by lane, depth and start.
  void finish();

  const TileSpan& span() const { return span_; }
  const std::vector<Item>& items() const { return items_; }
  const std::vector<InstantBin>& instants() const { return instants_; }
  const std::vector<CounterBin>& counters() const { return counters_; }
  bool is_truncated() const { return truncated_; }

 private:
  static constexpr size_t kCompactAt = 10 * kMaxItems;
  struct Last {
    size_t position = SIZE_MAX;
    int64_t bin = 0;
  };
  void compact_items();
  void compact_instants();

  TileSpan span_;
  std::vector<Item> items_;
  std::unordered_map<uint32_t, Last, base::SeededHash> last_of_row_;
  std::vector<InstantBin> instants_;
  std::vector<CounterBin> counters_;
  std::optional<CounterBin> before_;
  uint32_t last_row_ = UINT32_MAX;
  Last* last_ = nullptr;
  bool truncated_ = false;
};

}  // namespace kymo::serve
