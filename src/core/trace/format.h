// The constants of the file format, and the header at the start of each chunk. docs/format.md is the specification.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "trace/model.h"

namespace kymo::trace {

enum class ChunkType : uint16_t {
  Origin = 1,
  Classes = 2,
  Tracks = 3,
  Clock = 4,
  Events = 5,
  Stacks = 6,
  Losses = 7,
  Costs = 8,
  Index = 9,
  Tiles = 10,  // reserved
  Ending = 11,
  Window = 12,
};

// The first byte never starts a text, and the line end shows damage by an editor or by a transfer in text mode.
inline constexpr std::array<uint8_t, 8> kMagic = {0x93, 'K', 'Y', 'M', 'O', '\r', '\n', 0x1a};
inline constexpr uint16_t kVersion = 1;
inline constexpr uint16_t kPackedVersion = 2;  // of chunks of stacks: their records are compressed

inline constexpr size_t kHeaderBytes = 104;
inline constexpr size_t kMaxHeaderBytes = 1024;
inline constexpr size_t kAlignment = 8;

// Limits, so that a forged file cannot make a reader allocate too much.
inline constexpr uint64_t kMaxPayloadBytes = 64 << 20;
inline constexpr uint32_t kMaxEvents = 4 << 20;  // max number of ranges in a chunk, and of points
inline constexpr uint32_t kMaxValues = 8 << 20;  // max number of ints, and of doubles
inline constexpr uint32_t kMaxTextBytes = 64 << 20;
inline constexpr uint32_t kMaxHeadBytes = 8 << 20;
inline constexpr uint32_t kMaxOpenRanges = 1 << 16;
inline constexpr uint32_t kMaxPackedRatio = 20;  // compressed records are at least this part of the records

struct ChunkHeader {
  ChunkType type{};
  uint16_t version = kVersion;
  uint32_t header_length = kHeaderBytes;
  WriterId writer;
  uint64_t payload_length = 0;
  uint64_t first = 0, last = 0;
  uint32_t range_count = 0, point_count = 0;
  uint32_t track = 0, ring = 0;
  uint64_t sequence_begin = 0, sequence_end = 0;
  uint64_t payload_hash = 0;

  uint64_t chunk_length() const { return header_length + payload_length; }
  bool operator==(const ChunkHeader&) const = default;
};

// The part of a header between its magic and its hash. An index repeats it.
inline constexpr size_t kFieldsBytes = 88;

void store_fields(const ChunkHeader&, std::byte* at);
// Nothing if a length exceeds the limits of the format.
std::optional<ChunkHeader> load_fields(const std::byte* untrusted);

void store_header(const ChunkHeader&, std::byte* at);
// Nothing if the header is not complete, if the magic or the hash is wrong, or if a length is not allowed.
std::optional<ChunkHeader> load_header(base::Bytes untrusted);

}  // namespace kymo::trace
