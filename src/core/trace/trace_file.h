// A trace file that is open for reading, by offset.
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

}  // namespace kymo::trace
