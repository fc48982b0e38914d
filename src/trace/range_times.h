// The times of ranges as gaps: how far each is from the end of the one before it.
//
// Ranges come in the order of their ends, so each follows either a neighbour or its own last child, and its depth tells
// which. Gaps of code that runs in a loop are the same small numbers over and over; docs/format.md has the rule. Exact
// for any input at all: the arithmetic wraps.
#pragma once

#include <cstdint>
#include <span>

namespace kymo::trace {

// Fills `gap`, which is as long as the others; returns the base that makes the first gap 0. `open_before` is the number
// of ranges open before the first. Not for an empty sequence.
uint64_t to_gaps(std::span<const uint64_t> end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
                 size_t open_before, std::span<uint64_t> gap);

// The reverse, in place: `gap_to_end` holds gaps and then ends.
void to_ends(std::span<uint64_t> gap_to_end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
             size_t open_before, uint64_t base);

}  // namespace kymo::trace
