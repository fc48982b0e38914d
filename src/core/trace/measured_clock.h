// The system clock of a trace's host against the clock of another host, as it was measured when the trace was made.
// `kymo trigger --hosts` measures it and stores it in the trace; `kymo merge` uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/model.h"

namespace kymo::trace {

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
