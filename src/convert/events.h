// One walk over all events of a trace, which every exporter shares.
//
// An exporter is an EventVisitor: it is told of every range, point and range across threads, with names put together,
// times converted to one clock, and the place in a viewer where it belongs. Chunk by chunk in file order, so memory
// does not grow with the trace; within a track in the order things happened. Everything handed over is valid during the
// call.
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

// Nanoseconds since 1970, or of the host's CLOCK_MONOTONIC, which only compares on one host.
enum class TimeBase : uint8_t { Realtime, Monotonic };

// How long from one to the other, 0 where that is backwards; any two times at all.
inline uint64_t elapsed_ns(int64_t from, int64_t to) {
  return from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from) : 0;
}

struct Event {
  const Place* place = nullptr;
  const ClassInfo* event_class = nullptr;
  std::string_view name;          // with its places filled
  std::span<const Value> values;  // one for each field of the class; none where they could not be read
};

struct Range : Event {
  int64_t start_ns = 0, end_ns = 0;
  uint16_t depth = 0, lane = 0;
  uint64_t correlation = 0;  // 0: none
  bool finished = true;      // false: its end is not in the trace; end_ns is the last that was heard of its process
};

struct Point : Event {
  trace::PointKind kind = trace::PointKind::Instant;
  int64_t time_ns = 0;
  uint64_t id = 0;
  bool enclosed = false;  // in a range of its track: the innermost is from within_start_ns to within_end_ns
  int64_t within_start_ns = 0, within_end_ns = 0;
};

// A range begun and ended by handle; `place` is where it began.
struct AsyncRange : Event {
  int64_t start_ns = 0, end_ns = 0;
  uint64_t id = 0;
  const Place* end_place = nullptr;
  bool finished = true;
};

class EventVisitor {
 public:
  virtual ~EventVisitor() = default;

  // Each range once, when both its ends are known: before the ranges inside it, except that a range that spans chunks
  // comes after what it held.
  virtual void range(const Range&) {}
  // Asked once: are the next two wanted?
  virtual bool wants_moments() const { return false; }
  // The same ranges as two moments, in the order of the program on each track and lane; ends of what began last come
  // first, whatever was lost between. Only the begin of a range that is unfinished where the trace ends. end_ns of a
  // begin may not be known yet.
  virtual void range_begin(const Range&) {}
  virtual void range_end(const Place&, uint16_t /*lane*/, int64_t /*end_ns*/) {}
  // Everything but the ends of ranges across threads.
  virtual void point(const Point&) {}
  virtual void async_range(const AsyncRange&) {}
};

struct WalkReport {
  std::vector<trace::Problem> problems;  // chunks that could not be read, or have no place or clock
  uint64_t unmatched_ends = 0;           // ends of ranges across threads that never began
};

// Throws only what the visitor throws.
WalkReport visit_events(const trace::Reader& reader, const Places& places, TimeBase time_base, EventVisitor& visitor);

}  // namespace kymo::convert
