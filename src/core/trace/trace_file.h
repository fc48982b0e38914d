// A trace file that is open for reading, and its chunks.
//
// It reads and does not map the file, so that truncating the file gives an error and not a signal. Several threads may
// use it at the same time. Throws kymo::Error with the path and the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace kymo::trace {

// A chunk and its position.
struct FoundChunk {
  uint64_t offset = 0;
  ChunkHeader header;
};

class TraceFile {
 public:
  // Throws if it is not a regular file. `name` is for messages.
  TraceFile(const std::string& path, std::string name);

  const std::string& path() const { return path_; }
  uint64_t size() const { return base::size_of(file_, path_); }  // the current size: the file may grow

  // Returns fewer bytes only at the end of the file.
  base::Bytes read(uint64_t offset, std::span<std::byte> into) const;
  std::optional<ChunkHeader> header_at(uint64_t offset) const;
  // Reads the payload into `bytes`. Throws kymo::Error, with only the reason, if it is not complete or its hash is
  // wrong.
  base::Bytes payload(const FoundChunk&, std::vector<std::byte>& bytes) const;

 private:
  std::string path_;
  base::FileDescriptor file_;
};

// The chunks of a file, found by walking from header to header. Damage is skipped.
struct Walk {
  std::vector<FoundChunk> chunks;
  std::vector<Problem> problems;
  uint64_t end = 0;             // of the last complete chunk
  std::optional<Problem> tail;  // after it: an incomplete chunk, or something else
};

// Searches between two offsets of a file. A chunk should begin at the first one. Never fails because of the data:
// everything that is not a chunk becomes a Problem. Throws kymo::Error only if the file cannot be read at all. The time
// is proportional to the number of chunks, and to the number of bytes only if they are damaged.
Walk walk_chunks(const TraceFile&, uint64_t from, uint64_t to);

// All chunks that indexes reach from `end` backwards without a gap, and the indexes themselves, in file order. Empty if
// no index ends there. If the first chunk does not begin at 0, the part before it must be walked. An index with any
// error is ignored. Takes a few reads per index. Throws kymo::Error only if the file cannot be read.
std::vector<FoundChunk> chunks_by_index(const TraceFile&, uint64_t end);

// Describes a file that is not a trace, from its first bytes, and what to do with it: the end of an error message. For
// example "it looks like gzip: unpack it first (gzip -d)".
std::string describe_foreign(base::Bytes beginning);

}  // namespace kymo::trace
