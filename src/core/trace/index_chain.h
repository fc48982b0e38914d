// Finds the chunks of a file by its indexes, from the end backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace_file.h"

namespace kymo::trace {

// All chunks that indexes reach from `end` without a gap, and the indexes themselves, in file order. Empty if no index
// ends there. If the first chunk does not begin at 0, the part before it must be walked (walk.h). An index with any
// error is ignored. Takes a few reads per index. Throws kymo::Error only if the file cannot be read.
std::vector<FoundChunk> chunks_by_index(const TraceFile&, uint64_t end);

}  // namespace kymo::trace
