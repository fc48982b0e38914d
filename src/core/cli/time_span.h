// The options --from and --to: a part of a trace by time.
//
// Times count from the first event: 1.5s, 300ms. Negative times count from the last event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "convert/trace_times.h"
#include "options/command_line.h"

namespace kymo::cli {

// A time as the user gives it.
struct GivenTime {
  std::string text;
  uint64_t ns = 0;
  bool from_end = false;
};

// Throws kymo::InvalidArgument if the text is not a time.
GivenTime parse_time(const std::string& text);

struct TimeSpanOptions {
  std::optional<GivenTime> from, to;
  bool is_empty() const { return !from && !to; }
};

void add_time_span(options::CommandLine& line, TimeSpanOptions& options);

// Counted from the first event. `to_ns` is not inside. Without it, the last event is inside.
struct TimeSpan {
  uint64_t from_ns = 0;
  std::optional<uint64_t> to_ns;
};

// Throws options::UsageError for `command` if the start is after the last event, or nothing is between the times.
TimeSpan time_span(const TimeSpanOptions& options, const convert::TraceTimes& times, const std::string& command);

}  // namespace kymo::cli
