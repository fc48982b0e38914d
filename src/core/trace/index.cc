#include "trace/index.h"

#include <cstring>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::trace {

namespace {

constexpr size_t kPrefixBytes = 16;
constexpr size_t kFrameLength = 12;  // its offset in the prefix

}  // namespace

void write_index(base::ByteWriter& out, const std::vector<ChunkHeader>& chunks, PlaneWriter& compressor) {
  uint64_t covers = 0;
  std::vector<std::byte> planes(chunks.size() * kFieldsBytes);
  std::byte fields[kFieldsBytes];
  for (size_t i = 0; i < chunks.size(); ++i) {
    covers += chunks[i].chunk_length();
    store_fields(chunks[i], fields);
    for (size_t k = 0; k < kFieldsBytes; ++k) planes[k * chunks.size() + i] = fields[k];
  }
  const size_t begin = out.size();
  out.fixed(covers);
  out.fixed(static_cast<uint32_t>(chunks.size()));
  out.fixed(uint32_t{0});  // the length of the frame, stored below
  compressor.write(planes, out);
  base::store(out.data() + begin + kFrameLength, static_cast<uint32_t>(out.size() - begin - kPrefixBytes));
  out.pad_to_multiple_of(kAlignment);
  out.fixed(static_cast<uint64_t>(kHeaderBytes + out.size() - begin + kFooterBytes));
  out.append(std::as_bytes(std::span(kFooterMagic)));
}

uint64_t read_footer(base::Bytes last) {
  if (last.size() != kFooterBytes) return 0;
  if (std::memcmp(last.data() + sizeof(uint64_t), kFooterMagic.data(), kFooterMagic.size()) != 0) return 0;
  return base::load<uint64_t>(last.data());
}

std::vector<ChunkHeader> read_index(base::Bytes payload, uint64_t& covers) {
  base::ByteReader in(payload);
  covers = in.fixed<uint64_t>();
  const uint32_t count = in.fixed<uint32_t>();
  if (count > kMaxIndexEntries) throw Error(base::format("an index announces {} chunks", count));
  const base::Bytes stored = in.take(in.fixed<uint32_t>());
  const size_t size = count * kFieldsBytes;
  std::vector<std::byte> scratch;
  const PlaneStorage storage = stored.size() == size ? PlaneStorage::Raw : PlaneStorage::Zstd;
  const base::Bytes planes = PlaneReader().read(storage, stored, size, scratch);

  std::vector<ChunkHeader> chunks;
  chunks.reserve(count);
  uint64_t length = 0;
  std::byte fields[kFieldsBytes];
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < kFieldsBytes; ++k) fields[k] = planes[k * count + i];
    const auto header = load_fields(fields);
    if (!header) throw Error(base::format("entry {} of an index is wrong", i));
    length += header->chunk_length();
    chunks.push_back(*header);
  }
  if (length != covers) throw Error(base::format("an index of {} bytes says it covers {}", length, covers));
  return chunks;
}

}  // namespace kymo::trace
