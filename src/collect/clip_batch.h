// One chunk of events cut to a span of its clock's ticks: the part of clip.h that touches single events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "trace/clock.h"
#include "trace/model.h"

namespace kymo::collect {

// Ticks from `begin` to before `end`.
struct TickSpan {
  uint64_t begin = 0, end = 0;
  bool holds(uint64_t tick) const { return tick >= begin && tick < end; }
  uint64_t last() const { return end - 1; }  // not of an empty one
  bool empty() const { return begin >= end; }
};

// The ticks of a clock between two moments of CLOCK_MONOTONIC, both of which belong to it. Exact for what lies between
// `lowest` and `highest`, and as long beyond them as the span is.
TickSpan ticks_of_span(const trace::ClockMap& clock, int64_t from_ns, int64_t to_ns, uint64_t lowest, uint64_t highest);

// Whether a moment outside the span is kept all the same, at the nearer edge.
enum class Outside : uint8_t { Drop, Keep };

struct BatchClip {
  TickSpan span;
  bool first_of_ring = false;  // nothing is open before it
  bool last_of_ring = false;   // whatever is open after it ends with the span
  std::function<Outside(trace::PointKind kind, uint32_t class_id, uint64_t id, bool before)> outside;
};

// Earliest and latest tick in it, open ranges included; {0, 0} for an empty one.
std::pair<uint64_t, uint64_t> ticks_in(const trace::EventBatch& batch);

// Cuts `batch` in place; returns how many ranges were cut.
uint64_t clip_batch(trace::EventBatch& batch, const BatchClip& clip,
                    const std::map<uint32_t, trace::EventClass>& classes);

}  // namespace kymo::collect
