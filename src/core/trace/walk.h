// Finds the chunks of a file by walking from header to header, and skips damage.
//
// Never fails because of the data: everything that is not a chunk becomes a Problem. The time is proportional to the
// number of chunks, and to the number of bytes only if they are damaged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/reader.h"
#include "trace/trace_file.h"

namespace kymo::trace {

struct Walk {
  std::vector<FoundChunk> chunks;
  std::vector<Problem> problems;
  uint64_t end = 0;             // of the last complete chunk
  std::optional<Problem> tail;  // after it: an incomplete chunk, or something else
};

// Searches between two offsets of a file. A chunk should begin at the first one. Throws kymo::Error only if the file
// cannot be read at all.
Walk walk_chunks(const TraceFile&, uint64_t from, uint64_t to);

}  // namespace kymo::trace
