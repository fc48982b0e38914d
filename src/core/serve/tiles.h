// Tiles: what a viewer draws of some tracks at one zoom level (docs/view.md has the rules and the binary layout).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/tile_rows.h"
#include "serve/view.h"

namespace kymo::serve {

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
