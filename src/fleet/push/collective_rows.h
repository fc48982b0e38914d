// The rows of `collective_calls`.
#pragma once

#include <cstdint>
#include <functional>

#include "analyze/report/collective_calls.h"
#include "push/block.h"
#include "push/numbered_iterations.h"
#include "push/trace_rows.h"

namespace kymo::push {

// `realtime_of` gives nanoseconds since 1970 for a time of the calls.
void add_collectives(Block& block, const RowHead& head, const analyze::CollectiveCalls& calls,
                     const NumberedIterations& numbers, uint64_t clock_error_ns,
                     const std::function<uint64_t(int64_t)>& realtime_of);

}  // namespace kymo::push
