#include "trace/format.h"

#include <cstring>

#include "base/hash.h"

namespace kymo::trace {

namespace {

using base::load;
using base::store;

// Offsets of the fields, counted from the byte after the magic. The table in docs/format.md counts from the magic.
enum Place : size_t {
  kType = 0,
  kPayloadVersion = 2,
  kHeaderLength = 4,
  kWriter = 8,
  kPayloadLength = 24,
  kFirst = 32,
  kLast = 40,
  kRangeCount = 48,
  kPointCount = 52,
  kTrack = 56,
  kRing = 60,
  kSequenceBegin = 64,
  kSequenceEnd = 72,
  kPayloadHash = 80,
};
static_assert(kPayloadHash + sizeof(uint64_t) == kFieldsBytes);

constexpr size_t kHashedBytes = kMagic.size() + kFieldsBytes;
static_assert(kHashedBytes + sizeof(uint64_t) == kHeaderBytes);

}  // namespace

void store_fields(const ChunkHeader& header, std::byte* at) {
  store(at + kType, static_cast<uint16_t>(header.type));
  store(at + kPayloadVersion, header.version);
  store(at + kHeaderLength, header.header_length);
  std::memcpy(at + kWriter, header.writer.bytes.data(), header.writer.bytes.size());
  store(at + kPayloadLength, header.payload_length);
  store(at + kFirst, header.first);
  store(at + kLast, header.last);
  store(at + kRangeCount, header.range_count);
  store(at + kPointCount, header.point_count);
  store(at + kTrack, header.track);
  store(at + kRing, header.ring);
  store(at + kSequenceBegin, header.sequence_begin);
  store(at + kSequenceEnd, header.sequence_end);
  store(at + kPayloadHash, header.payload_hash);
}

std::optional<ChunkHeader> load_fields(const std::byte* untrusted) {
  ChunkHeader header;
  header.type = static_cast<ChunkType>(load<uint16_t>(untrusted + kType));
  header.version = load<uint16_t>(untrusted + kPayloadVersion);
  header.header_length = load<uint32_t>(untrusted + kHeaderLength);
  std::memcpy(header.writer.bytes.data(), untrusted + kWriter, header.writer.bytes.size());
  header.payload_length = load<uint64_t>(untrusted + kPayloadLength);
  header.first = load<uint64_t>(untrusted + kFirst);
  header.last = load<uint64_t>(untrusted + kLast);
  header.range_count = load<uint32_t>(untrusted + kRangeCount);
  header.point_count = load<uint32_t>(untrusted + kPointCount);
  header.track = load<uint32_t>(untrusted + kTrack);
  header.ring = load<uint32_t>(untrusted + kRing);
  header.sequence_begin = load<uint64_t>(untrusted + kSequenceBegin);
  header.sequence_end = load<uint64_t>(untrusted + kSequenceEnd);
  header.payload_hash = load<uint64_t>(untrusted + kPayloadHash);

  const bool header_fits = header.header_length >= kHeaderBytes && header.header_length <= kMaxHeaderBytes;
  if (!header_fits || header.payload_length > kMaxPayloadBytes) return std::nullopt;
  if (header.chunk_length() % kAlignment != 0) return std::nullopt;
  return header;
}

void store_header(const ChunkHeader& header, std::byte* at) {
  std::memcpy(at, kMagic.data(), kMagic.size());
  store_fields(header, at + kMagic.size());
  store(at + kHashedBytes, base::hash({at, kHashedBytes}));
}

std::optional<ChunkHeader> load_header(base::Bytes untrusted) {
  if (untrusted.size() < kHeaderBytes) return std::nullopt;
  if (std::memcmp(untrusted.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  if (load<uint64_t>(untrusted.data() + kHashedBytes) != base::hash(untrusted.first(kHashedBytes))) return std::nullopt;
  return load_fields(untrusted.data() + kMagic.size());
}

}  // namespace kymo::trace
