// Cuts one chunk of events to a span of ticks of its clock: the part of clip.h that handles single events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::collect {

// Ticks from `begin` to `end`, without `end`.
struct TickSpan {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t tick) const { return tick >= begin && tick < end; }
  uint64_t last() const { return end - 1; }  // only if not empty
  bool empty() const { return begin >= end; }
};

// The ticks of a clock between two times of CLOCK_MONOTONIC, with both ends. Exact between `lowest` and `highest`, and
// outside of them for the length of the span.
TickSpan ticks_of_span(const trace::ClockMap& clock, int64_t from_ns, int64_t to_ns, uint64_t lowest, uint64_t highest);

// Whether a point outside the span is kept. It is then moved to the nearer edge.
enum class Outside : uint8_t { Drop, Keep };

struct BatchClip {
  TickSpan span;
  bool first_of_ring = false;  // no range is open before it
  bool last_of_ring = false;   // ranges that are open after it end with the span
  std::function<Outside(trace::PointKind kind, uint32_t class_id, uint64_t id, bool before)> outside;
};

// The earliest and the latest tick in it, with open ranges. {0, 0} if it is empty.
std::pair<uint64_t, uint64_t> ticks_in(const trace::EventBatch& batch);

// Cuts `batch` in place; returns how many ranges were cut.
uint64_t clip_batch(trace::EventBatch& batch, const BatchClip& clip,
                    const std::map<uint32_t, trace::EventClass>& classes);

}  // namespace kymo::collect
