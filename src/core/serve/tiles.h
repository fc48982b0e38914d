// Tiles: what a viewer draws of some tracks at one zoom level (docs/view.md has the rules and the binary layout).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/chunk_data.h"
#include "serve/view.h"

namespace kymo::serve {

struct TileSpan {
  unsigned level = 0;  // a bin has 2^level ns
  int64_t from = 0, to = 0;

  static constexpr unsigned kBinsLog2 = 10, kMaxLevel = 52;
  // Tile numbers beyond last_tile(level) have no time that fits into 63 bits.
  static uint64_t last_tile(unsigned level) { return (uint64_t{INT64_MAX} >> (level + kBinsLog2)) - 1; }
  static TileSpan of(unsigned level, uint64_t tile);
};

// Collects the content of one tile: merges ranges that are shorter than a bin into runs, in any order of input.
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
  template <typename Value>
  bool is_same_bin(const Value& a, const Value& b) const {
    return bin_of(a.time, span_.level) == bin_of(b.time, span_.level);
  }
  void compact_items();
  void compact_instants();

  TileSpan span_;
  std::vector<Item> items_;
  std::optional<LastOfRow<Item>> runs_;
  std::vector<InstantBin> instants_;
  std::vector<CounterBin> counters_;
  std::optional<CounterBin> before_;
  bool truncated_ = false;
};

struct TileRequest {
  static constexpr size_t kMaxTiles = 16, kMaxTracks = 1024, kMaxTotal = 4096;
  unsigned level = 0;
  uint64_t from = 0, to = 0;  // the first and the last tile
  std::vector<uint32_t> tracks;
};

struct Tile {
  static constexpr uint32_t kTruncated = 1, kPreliminary = 2, kDamaged = 4;
  uint32_t track = 0;
  uint64_t number = 0;
  uint32_t flags = 0;
  std::vector<Item> items;  // names are those of single ranges
  std::vector<InstantBin> instants;
  std::vector<CounterBin> counters;
};

// All tiles of a track together, in the order of the request. Decodes chunks on all cores until the budget of the view
// is used up, or is seen to be far too short; what is missing then comes from the heads of the chunks. Tracks that do
// not exist have empty tiles. The request must be within its limits.
std::vector<Tile> make_tiles(View& view, const TileRequest& request);

std::string encode_tiles(const std::vector<Tile>& tiles, uint32_t names_version);

}  // namespace kymo::serve
