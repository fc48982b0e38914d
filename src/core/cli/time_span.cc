#include "cli/time_span.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "cli/units.h"
#include "kymo/error.h"

namespace kymo::cli {
namespace {

uint64_t place_of(const GivenTime& time, uint64_t length_ns) {
  return time.from_end ? length_ns - std::min(time.ns, length_ns) : time.ns;
}

}  // namespace

GivenTime parse_time(const std::string& text) {
  constexpr std::string_view kForms = "1.5s or 300ms, or -300ms to count from the end";
  if (text == "0") return {text, 0, false};  // the same in any unit
  if (!text.starts_with('-')) return {text, base::parse_duration_ns(text, kForms), false};
  try {
    return {text, base::parse_duration_ns(std::string_view(text).substr(1), kForms), true};
  } catch (const InvalidArgument&) {
    throw InvalidArgument(base::format("'{}' is not a time: write it like {}", text, kForms));  // with its sign
  }
}

void add_time_span(options::CommandLine& line, TimeSpanOptions& options) {
  line.text(
      "--from", "TIME", [&options](const std::string& text) { options.from = parse_time(text); },
      "start here; default: at the first event");
  line.text(
      "--to", "TIME", [&options](const std::string& text) { options.to = parse_time(text); },
      "end before this time; default: after the last event");
}

TimeSpan time_span(const TimeSpanOptions& options, const convert::TraceTimes& times, const std::string& command) {
  const uint64_t length_ns = times.length_ns();
  TimeSpan span;
  if (options.from) span.from_ns = place_of(*options.from, length_ns);
  if (options.to) span.to_ns = place_of(*options.to, length_ns);
  if (span.from_ns > length_ns) {
    throw options::UsageError(command, base::format("--from {} is after the last event of the trace, which is {} long: "
                                                    "give an earlier time",
                                                    options.from->text, duration_text(length_ns)));
  }
  if (span.to_ns && span.from_ns > *span.to_ns) {
    throw options::UsageError(
        command, base::format("--from {} is after --to {}: give an earlier --from or a later --to", options.from->text,
                              options.to->text));
  }
  if (span.to_ns && span.from_ns == *span.to_ns) {
    throw options::UsageError(
        command, base::format("the part from {} to {} is empty, because its end is not in it: give a later --to",
                              options.from ? options.from->text : "the first event", options.to->text));
  }
  if (span.to_ns && *span.to_ns > length_ns) span.to_ns.reset();
  return span;
}

}  // namespace kymo::cli
