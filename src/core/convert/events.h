// One walk over all events of a trace, shared by all exporters.
//
// An exporter is an EventVisitor. It gets every range, point and range across threads, with complete names, times on
// one clock, and the place in a viewer. The walk goes chunk by chunk in file order, so memory does not grow with the
// trace. Within a track, events come in the order in which they happened. All arguments are valid only during the call.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "convert/classes.h"
#include "convert/places.h"
#include "convert/value_rows.h"
#include "trace/reader.h"

namespace kymo::convert {

// Nanoseconds since 1970, or of the host's CLOCK_MONOTONIC, which is comparable only on one host.
enum class TimeBase : uint8_t { Realtime, Monotonic };

// The time from one to the other; 0 if that is backwards. Any two times are allowed.
inline uint64_t elapsed_ns(int64_t from, int64_t to) {
  return from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

struct Event {
  const Place* place = nullptr;
  const ClassInfo* event_class = nullptr;
  // From 1; unique among the ranges, or the points, of the trace: their place in the file. 0: a range without an end,
  // or across threads.
  uint64_t number = 0;
  std::string_view name;          // with its "{}" filled
  std::span<const Value> values;  // one for each field of the class; empty if they could not be read
};

struct Range : Event {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t duration_ns = 0;  // as kymo stats has it; end_ns - start_ns may differ by the error of the clock
  uint16_t depth = 0, lane = 0;
  uint64_t correlation = 0;  // 0: none
  bool finished = true;      // false: its end is not in the trace; end_ns is the last time its process was seen
};

struct Point : Event {
  trace::PointKind kind = trace::PointKind::Instant;
  int64_t time_ns = 0;
  uint64_t id = 0;
  bool enclosed = false;  // inside a range of its track; the innermost is within_start_ns to within_end_ns
  int64_t within_start_ns = 0, within_end_ns = 0;
};

// A range that was started and ended by handle. `place` is where it started.
struct AsyncRange : Event {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t id = 0;
  const Place* end_place = nullptr;
  bool finished = true;
};

class EventVisitor {
 public:
  virtual ~EventVisitor() = default;

  // Called once for each range, when both its ends are known: before the ranges inside it. But a range that spans
  // chunks comes after its content.
  virtual void range(const Range&) {}
  // Called once: true if the next two must be called.
  virtual bool wants_moments() const { return false; }
  // The same ranges as two points in time, in the order of the program on each track and lane. The innermost open range
  // always ends first, even if data was lost between. For a range that is unfinished at the end of the trace, only
  // range_begin is called. In range_begin, end_ns may not be known yet.
  virtual void range_begin(const Range&) {}
  virtual void range_end(const Place&, uint16_t /*lane*/, int64_t /*end_ns*/) {}
  // All points except the ends of ranges across threads, and except definitions (trace/definition.h).
  virtual void point(const Point&) {}
  virtual void async_range(const AsyncRange&) {}
};

struct WalkReport {
  std::vector<trace::Problem> problems;  // of the reader, and chunks that cannot be read
  uint64_t unmatched_ends = 0;           // ends of ranges across threads without a start
};

// Throws only what the visitor throws.
WalkReport visit_events(const trace::Reader& reader, const Places& places, TimeBase time_base, EventVisitor& visitor);

}  // namespace kymo::convert
