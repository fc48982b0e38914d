// The clocks of a trace: from a clock domain of the file to base::ClockMap, which converts its ticks; and what the
// clocks say about processes, events and other hosts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock_map.h"
#include "trace/model.h"
#include "trace/reader.h"

namespace kymo::trace {

using base::ClockMap;

inline constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md

// Real time has the rate of monotonic time, so that setting the system's clock changes no duration. The pairs of a file
// are untrusted; ClockMap can handle that.
inline ClockMap clock_map(const ClockDomain& domain) {
  return {{domain.period_numerator, domain.period_denominator, domain.wrap_bits}, domain.pairs};
}

// The clocks of a writer's tracks, converted on first use.
class TrackClocks {
 public:
  explicit TrackClocks(const WriterInfo& writer) : writer_(&writer) {}
  // Null if the track is unknown or its clock cannot be converted.
  const ClockMap* find(uint32_t track);

 private:
  const WriterInfo* writer_;
  std::map<uint32_t, ClockMap> clocks_;
};

// When each process of a trace was last seen alive: by an event, or by its collector. Ranges that the process left open
// lasted at least until then. In nanoseconds of the host's CLOCK_MONOTONIC. For a process that still records it is now.
// Reads only chunk headers. A writer without an event on a usable clock has no entry.
std::map<WriterId, int64_t> last_alive_ns(const Reader& reader);

// The events whose times are not known: the file has no description of their track, or no usable clock for it. A
// recorder writes both before the events, so the chunks were damaged or torn off. Commands leave these events out,
// except `kymo info`, which counts them, and `kymo stats`, which needs only the rate of their clock. One problem for
// each writer and reason, in file order.
std::vector<Problem> untimed_events(const std::map<WriterId, WriterInfo>& writers,
                                    const std::vector<EventChunk>& chunks);

// The system clock of a trace's host against the clock of another host, as it was measured when the trace was made.
// `kymo trigger --hosts` measures it and stores it in the trace; `kymo merge` uses it.
struct MeasuredClock {
  std::string reference;  // which clock: the same text in two traces means the same clock
  int64_t offset_ns = 0;  // CLOCK_REALTIME of the trace's host minus the reference
  uint64_t error_ns = 0;
};

// Nothing if the origin has none, or one that cannot be read.
std::optional<MeasuredClock> measured_clock(const Origin& origin);

// Adds it to all writers of a trace.
void add_measured_clock(const std::string& path, const MeasuredClock& clock);

// Of the error of a process's clocks, what `kymo merge` added when it moved them to the clock of another host. All
// times of the process are wrong by the same: differences between them are not.
uint64_t alignment_error(const Origin& origin);
void add_alignment_error(Origin& origin, uint64_t error_ns);

}  // namespace kymo::trace
