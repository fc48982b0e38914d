// Finds the chunks of a file by going from header to header, and past damage.
//
// Never fails on what it reads: whatever is not a chunk becomes a Problem. Takes time in proportion to the number of
// chunks, and to the bytes only where they are damaged.
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
  uint64_t end = 0;             // of the last whole chunk
  std::optional<Problem> tail;  // what follows it: an unfinished chunk, or something else
};

// Looks between two offsets of a file, the first of which is where a chunk should begin. Throws kymo::Error only where
// the file cannot be read at all.
Walk walk_chunks(const TraceFile&, uint64_t from, uint64_t to);

}  // namespace kymo::trace
