// One walk over all events of a trace, shared by all exporters.
//
// An exporter is an EventVisitor. It gets every range, point and range across threads, with complete names, times on
// one clock, and the place in a viewer. The walk goes chunk by chunk in file order, so memory does not grow with the
// trace. Within a track, events come in the order in which they happened. All arguments are valid only during the call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/places.h"
#include "trace/async_pairs.h"
#include "trace/reader.h"

namespace kymo::convert {

// The event classes of a trace, numbered over all its writers, with data that exporters need repeatedly.
struct ClassInfo {
  uint32_t index = 0;  // dense, so that an exporter can use it as an index into a vector
  trace::EventClass event_class;
  bool is_known = true;     // false: the trace has events of it but not the class; their values cannot be read
  bool has_places = false;  // the name has places that values fill: it is different for each event
  // The name of each field's value; empty if the value is part of the event's name, or is not shown.
  std::vector<std::string> keys;
};

// One per process. Class 0, whose events carry their names, is "{}" here, which has the same effect.
class Classes {
 public:
  // Numbers continue from `next_index`, which is advanced. Both must outlive this object.
  Classes(const trace::WriterInfo& writer, uint32_t& next_index) : writer_(writer), next_index_(next_index) {}

  // Created on the first call. The reference stays valid.
  const ClassInfo& find(uint32_t class_id) {
    if (class_id < dense_.size() && dense_[class_id] != nullptr) return *dense_[class_id];
    return make(class_id);
  }

 private:
  const ClassInfo& make(uint32_t class_id);

  const trace::WriterInfo& writer_;
  uint32_t& next_index_;
  std::deque<ClassInfo> infos_;
  std::vector<const ClassInfo*> dense_;
  std::map<uint32_t, const ClassInfo*> sparse_;  // for ids that are too large for a table
  const ClassInfo* unknown_ = nullptr;
};

// The field values of a chunk's events, with access in any order.
//
// A chunk stores values as streams that can only be read from the start, but exporters visit events in the order of
// their starts. So the streams are read once and stored row by row.

using Value = trace::ValueCursor::Value;

class ValueRows {
 public:
  // Keeps views into `values`. After an event of an unknown class, rows are empty, because the next row's start is
  // unknown.
  void load(const trace::Values& values, std::span<const uint32_t> class_ids, Classes& classes);

  std::span<const Value> row(size_t event) const {
    return std::span(values_).subspan(begin_[event], begin_[event + 1] - begin_[event]);
  }

 private:
  std::vector<Value> values_;
  std::vector<uint32_t> begin_;  // of each row, and the end of the last one
};

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
  // Called once: true if events of tracks whose clock has no readings must be passed too: only their durations are
  // known.
  virtual bool wants_untimed() const { return false; }
  // Called once: true if the next two must be called.
  virtual bool wants_moments() const { return false; }
  // The same ranges as two points in time, in the order of the program on each track and lane. The innermost open range
  // always ends first, even if data was lost between. For a range that is unfinished at the end of the trace, only
  // range_begin is called. In range_begin, end_ns may not be known yet.
  virtual void range_begin(const Range&) {}
  virtual void range_end(const Place&, uint16_t /*lane*/, int64_t /*end_ns*/) {}
  // All points except the ends of ranges across threads, and except definitions (trace/model.h).
  virtual void point(const Point&) {}
  virtual void async_range(const AsyncRange&) {}
};

struct WalkReport {
  std::vector<trace::Problem> problems;  // of the reader, and chunks that cannot be read
  uint64_t unmatched_ends = 0;           // ends of ranges across threads without a start
};

// Throws only what the visitor throws.
WalkReport visit_events(const trace::Reader& reader, const Places& places, TimeBase time_base, EventVisitor& visitor);

// Reports ranges across threads, whose two ends trace/async_pairs.h has matched.
class AsyncRanges {
 public:
  explicit AsyncRanges(EventVisitor& visitor)
      : visitor_(visitor), pairs_([this](uint64_t id, const std::unique_ptr<Begin>& begin, const End& end) {
          hand_out(id, *begin, end.ns, end.place);
        }) {}

  // `writer` is the number of the process; handles are unique within it.
  void begin(uint32_t writer, const Point& point);
  void end(uint32_t writer, const Point& point) { pairs_.end({writer, point.id}, {point.place, point.time_ns}); }

  // Reports the remaining ranges. A range without an end lasts until end_of(its place).
  template <typename EndOf>
  void finish(EndOf&& end_of) {
    pairs_.finish([&](const trace::AsyncHandle& handle, const std::unique_ptr<Begin>& begin) {
      hand_out(handle.id, *begin, end_of(*begin->place), nullptr);
    });
  }

  uint64_t unmatched_ends() const { return pairs_.unmatched_ends(); }

 private:
  // A start that is kept after its chunk, with its own copy of the texts.
  struct Begin {
    explicit Begin(const Point& point);
    const Place* place;
    const ClassInfo* event_class;
    int64_t start_ns;
    std::string name;
    std::vector<std::string> texts;
    std::vector<Value> values;
  };
  struct End {
    const Place* place;
    int64_t ns;
  };

  void hand_out(uint64_t id, const Begin& begin, int64_t end_ns, const Place* end_place);

  EventVisitor& visitor_;
  trace::AsyncPairs<std::unique_ptr<Begin>, End> pairs_;
};

}  // namespace kymo::convert
