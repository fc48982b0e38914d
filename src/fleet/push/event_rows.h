// The events of a trace as rows of the table `events`: ranges, ranges across threads as their two ends, instants,
// counters, allocations, samples and flows.
#pragma once

#include <functional>

#include "push/block.h"
#include "push/trace_rows.h"
#include "trace/reader.h"

namespace kymo::push {

// A block is given to `send` when it is large enough; it is empty again afterwards. The same trace gives the same
// blocks. Throws what `send` throws. Returns the number of rows.
uint64_t add_events(const trace::Reader& reader, const RowHead& head, const std::function<void(const Block&)>& send);

}  // namespace kymo::push
