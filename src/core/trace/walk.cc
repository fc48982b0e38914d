#include "trace/walk.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace kymo::trace {

namespace {

constexpr size_t kHeaderWindow = 4 << 10;  // small chunks often share one
constexpr size_t kSearchWindow = 256 << 10;

class Walker {
 public:
  Walker(const TraceFile& file, uint64_t to) : file_(file), to_(to) {}

  std::optional<ChunkHeader> header_at(uint64_t offset) {
    if (offset + kHeaderBytes > to_) return std::nullopt;
    return load_header(view(offset, kHeaderWindow));
  }

  // The offset of the first valid header at or after `offset`.
  std::optional<uint64_t> find_header(uint64_t offset) {
    const std::string_view magic(reinterpret_cast<const char*>(kMagic.data()), kMagic.size());
    while (offset + kHeaderBytes <= to_) {
      const base::Bytes bytes = view(offset, kSearchWindow);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      for (size_t at = text.find(magic); at != text.npos; at = text.find(magic, at + 1)) {
        if (load_header(bytes.subspan(at))) return offset + at;
      }
      if (bytes.size() < kHeaderBytes) break;
      offset += bytes.size() - kHeaderBytes + 1;  // a header may cross the end of the window
    }
    return std::nullopt;
  }

 private:
  // The loaded bytes from `offset` on. If they are fewer than a header, reads a window there first.
  base::Bytes view(uint64_t offset, size_t window) {
    const bool at_hand = offset >= begin_ && offset + kHeaderBytes <= begin_ + bytes_.size();
    if (!at_hand) {
      begin_ = offset;
      bytes_.resize(static_cast<size_t>(std::min<uint64_t>(window, to_ - offset)));
      bytes_.resize(file_.read(offset, bytes_).size());
    }
    return base::Bytes(bytes_).subspan(static_cast<size_t>(offset - begin_));
  }

  const TraceFile& file_;
  uint64_t to_;
  uint64_t begin_ = 0;
  std::vector<std::byte> bytes_;
};

Problem skipped(uint64_t begin, uint64_t end) {
  return {begin, end - begin,
          base::format("{} bytes at {} are damaged and were skipped: what they held is missing", end - begin, begin)};
}

Problem unfinished(uint64_t begin, uint64_t end) {
  return {begin, end - begin,
          base::format("the last {} bytes are an unfinished chunk: the file was cut off, or is still being written",
                       end - begin)};
}

Problem foreign_end(uint64_t begin, uint64_t end) {
  return {begin, end - begin, base::format("the last {} bytes are not part of a trace and were skipped", end - begin)};
}

// True if these may be the first bytes of a header that is not completely written yet.
bool may_grow_into_header(uint64_t begin, uint64_t end) { return end - begin < kHeaderBytes; }

}  // namespace

Walk walk_chunks(const TraceFile& file, uint64_t from, uint64_t to) {
  Walker walker(file, to);
  Walk walk;
  uint64_t at = from;
  bool follows_chunk = false;  // true if the last chunk found ends here
  while (at < to) {
    const auto header = walker.header_at(at);
    if (header && header->chunk_length() <= to - at) {
      walk.chunks.push_back({at, *header});
      at += header->chunk_length();
      follows_chunk = true;
      continue;
    }
    // This is not a complete chunk. The next chunk may begin inside it. It may also begin inside the previous chunk, if
    // that one was cut off and other writers continued to append. A complete chunk never contains a valid header.
    uint64_t search = at + 1;
    if (!header && follows_chunk) search = walk.chunks.back().offset + walk.chunks.back().header.header_length;
    const auto next = walker.find_header(search);
    if (!next) {
      walk.tail = header || may_grow_into_header(at, to) ? unfinished(at, to) : foreign_end(at, to);
      break;
    }
    if (*next < at) {
      at = walk.chunks.back().offset;
      walk.chunks.pop_back();
    }
    walk.problems.push_back(skipped(at, *next));
    at = *next;
    follows_chunk = false;
  }
  walk.end = at;
  return walk;
}

}  // namespace kymo::trace
