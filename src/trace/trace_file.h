// A trace file opened for reading: pieces of it by offset.
//
// Reads rather than maps, so that a file that is cut while it is read gives an error and not a signal. May be used by
// several threads at once. Throws kymo::Error with the path and the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "trace/format.h"

namespace kymo::trace {

// A chunk and where it is.
struct FoundChunk {
  uint64_t offset = 0;
  ChunkHeader header;
};

class TraceFile {
 public:
  // Refuses what is not a regular file. `name` is for messages.
  TraceFile(const std::string& path, std::string name);

  const std::string& path() const { return path_; }
  uint64_t size() const { return base::size_of(file_, path_); }  // now: it may be growing

  // Less than asked for only at the end of the file.
  base::Bytes read(uint64_t offset, std::span<std::byte> into) const;
  std::optional<ChunkHeader> header_at(uint64_t offset) const;
  // In `bytes`. Throws kymo::Error, with the reason only, where it is not all there or its hash is wrong.
  base::Bytes payload(const FoundChunk&, std::vector<std::byte>& bytes) const;

 private:
  std::string path_;
  base::FileDescriptor file_;
};

}  // namespace kymo::trace
