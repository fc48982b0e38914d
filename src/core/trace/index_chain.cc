#include "trace/index_chain.h"

#include <algorithm>
#include <array>

#include "kymo/error.h"
#include "trace/index.h"

namespace kymo::trace {

namespace {

// The index chunk that ends at `end`, if there is one.
std::optional<FoundChunk> index_ending_at(const TraceFile& file, uint64_t end) {
  if (end < kHeaderBytes + kFooterBytes) return std::nullopt;
  std::array<std::byte, kFooterBytes> footer;
  const uint64_t length = read_footer(file.read(end - kFooterBytes, footer));
  if (length < kHeaderBytes || length > end) return std::nullopt;
  const uint64_t at = end - length;
  const auto header = file.header_at(at);
  if (!header || header->type != ChunkType::Index || header->version != kVersion) return std::nullopt;
  if (header->chunk_length() != length) return std::nullopt;
  return FoundChunk{at, *header};
}

// The chunks that the index covers. Empty if the index is wrong.
std::vector<FoundChunk> covered_by(const TraceFile& file, const FoundChunk& index) {
  std::vector<FoundChunk> chunks;
  try {
    std::vector<std::byte> bytes;
    uint64_t covers = 0;
    const std::vector<ChunkHeader> headers = read_index(file.payload(index, bytes), covers);
    if (covers > index.offset) return {};
    uint64_t offset = index.offset - covers;
    for (const ChunkHeader& header : headers) {
      chunks.push_back({offset, header});
      offset += header.chunk_length();
    }
  } catch (const Error&) {
    return {};
  }
  // Where locks do not work, another writer's chunk may lie between these chunks. The offsets are wrong then.
  if (!chunks.empty() && file.header_at(chunks.front().offset) != chunks.front().header) return {};
  return chunks;
}

}  // namespace

std::vector<FoundChunk> chunks_by_index(const TraceFile& file, uint64_t end) {
  std::vector<FoundChunk> found;  // last chunk first
  while (const auto index = index_ending_at(file, end)) {
    const std::vector<FoundChunk> covered = covered_by(file, *index);
    if (covered.empty()) break;
    found.push_back(*index);
    found.insert(found.end(), covered.rbegin(), covered.rend());
    end = covered.front().offset;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace kymo::trace
