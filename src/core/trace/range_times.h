// Stores the times of ranges as gaps: the distance of each from the end of the previous one.
//
// Ranges are sorted by their ends, so each follows either a neighbour or its own last child; its depth says which. Gaps
// of code in a loop are the same small numbers again and again. docs/format.md has the rule. Exact for any input: the
// arithmetic wraps.
#pragma once

#include <cstdint>
#include <span>

namespace kymo::trace {

// Fills `gap`, which must be as long as the others. Returns the base that makes the first gap 0. `open_before` is the
// number of ranges that are open before the first one. The input must not be empty.
uint64_t to_gaps(std::span<const uint64_t> end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
                 size_t open_before, std::span<uint64_t> gap);

// The inverse, in place: replaces the gaps in `gap_to_end` by ends.
void to_ends(std::span<uint64_t> gap_to_end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
             size_t open_before, uint64_t base);

}  // namespace kymo::trace
