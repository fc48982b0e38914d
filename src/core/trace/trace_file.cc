#include "trace/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "trace/index.h"

namespace kymo::trace {

TraceFile::TraceFile(const std::string& path, std::string name) : path_(std::move(name)) {
  // O_NONBLOCK: opening a pipe without a writer would block.
  file_ = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file_) throw base::file_error("read", path_, errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw base::file_error("read", path_, errno);
  if (S_ISDIR(status.st_mode)) {
    throw Error(base::format("cannot read {}: it is a folder; name the trace in it", path_));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(base::format("cannot read {}: it is not a regular file; save what comes from it first", path_));
  }
}

base::Bytes TraceFile::read(uint64_t offset, std::span<std::byte> into) const {
  return into.first(base::read_at(file_, path_, offset, into));
}

std::optional<ChunkHeader> TraceFile::header_at(uint64_t offset) const {
  std::byte bytes[kHeaderBytes];
  return load_header(read(offset, bytes));
}

base::Bytes TraceFile::payload(const FoundChunk& chunk, std::vector<std::byte>& bytes) const {
  bytes.resize(chunk.header.payload_length);
  if (read(chunk.offset + chunk.header.header_length, bytes).size() != bytes.size()) {
    throw Error("the file ends in the middle of it");
  }
  if (base::hash(bytes) != chunk.header.payload_hash) throw Error("its hash is wrong: its bytes are not as written");
  return bytes;
}

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

namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view beginning;
  const char* description;
};

constexpr Signature kSignatures[] = {
    {"\x1f\x8b"sv, "it looks like gzip: unpack it first (gzip -d)"},
    {"\x28\xb5\x2f\xfd"sv, "it looks like zstd: unpack it first (zstd -d)"},
    {"\xfd"
     "7zXZ"sv,
     "it looks like xz: unpack it first (xz -d)"},
    {"PK\x03\x04"sv, "it looks like a zip archive: unpack it first"},
    {"\x7f"
     "ELF"sv,
     "it is a program or a library: to record it, run it under `kymo record`"},
    {"SQLite format 3"sv, "it looks like a SQLite database, as Nsight Systems exports them"},
    {"PERFILE2"sv, "it looks like the output of perf"},
    {"#!"sv, "it is a script: to record it, run it under `kymo record`"},
    {"\n"sv, "it looks like a Perfetto trace, which has to be imported"},
};

bool is_text(char c) { return c == '\t' || c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20; }

}  // namespace

std::string describe_foreign(base::Bytes beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && (text[begin] == '{' || text[begin] == '[')) {
    return "it looks like JSON, perhaps a Chrome or Kineto trace, which has to be imported";
  }
  if (text.find_first_not_of('\0') == text.npos) return "it begins with zeros, as files do that lost their contents";
  const bool all_text = std::all_of(text.begin(), text.end(), is_text);
  for (const Signature& signature : kSignatures) {
    // A protobuf tag, or an empty line at the beginning of a text
    const bool ambiguous = signature.beginning == "\n"sv;
    if (text.starts_with(signature.beginning) && !(ambiguous && all_text)) return signature.description;
  }
  if (all_text) return "it looks like text";
  return "it is of no kind that Kymo knows";
}

}  // namespace kymo::trace
