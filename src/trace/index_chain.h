// Finds the chunks of a file by its indexes, from the end backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_file.h"

namespace kymo::trace {

// All chunks that indexes reach from `end` without a gap, and the indexes themselves, in file order. Empty when no
// index ends there; where the first of them does not begin at 0, what is before it has to be walked. An index that is
// wrong in any way counts as none. Takes a few reads an index. Throws kymo::Error only where the file cannot be read.
std::vector<FoundChunk> chunks_by_index(const TraceFile&, uint64_t end);

}  // namespace kymo::trace
