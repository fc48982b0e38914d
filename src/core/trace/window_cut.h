// Cuts one chunk of events to a window: the part of window_view.h that handles single events.
//
// A range that crosses an edge is cut there, also a range that was started and ended by handle. Events outside are
// dropped. Events before the window that later events need (the stacks and files of an allocation) are kept, at the
// start of the window.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::trace {

// Ticks from `begin` to `end`, without `end`. A range that crosses the end is cut at `end`, so that the parts of a
// range in two adjacent windows add up to its length.
struct TickSpan {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t tick) const { return tick >= begin && tick < end; }
  bool empty() const { return begin >= end; }
};

// The ticks of a clock inside a window. All events are between `lowest` and `highest`. The result is exact at both
// edges, wherever these events are.
TickSpan ticks_of_window(const ClockMap& clock, const Window& window, uint64_t lowest, uint64_t highest);

// What a range by handle does outside of the window. A handle without an entry does nothing there.
struct HandleOutside {
  bool begins_after = false, ends_before = false;
};
using HandlesOutside = std::unordered_map<uint64_t, HandleOutside, base::SeededHash>;
void note_handles(const Points& points, const TickSpan& span, HandlesOutside& handles);

// How a chunk is cut.
struct ChunkCut {
  TickSpan span;
  bool first_of_ring = false;     // no range is open before it
  bool ends_open_ranges = false;  // it is the last of its ring: ranges that are open after it end with the window
  bool only_points = false;       // all of its ranges are outside
};

// Cuts `batch`. It must be complete, except for the ranges if `cut.only_points`.
void cut_batch(EventBatch& batch, const ChunkCut& cut, const HandlesOutside& handles,
               const std::map<uint32_t, EventClass>& classes);

// Cuts only the lists of open ranges, for a chunk whose events are all inside.
void cut_open_ranges(EventBatch& batch, const ChunkCut& cut);

}  // namespace kymo::trace
