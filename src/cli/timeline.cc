// `kymo timeline`: the tracks of a trace as one screen of text.
#include "analyze/views/timeline.h"

#include <algorithm>

#include "analyze/summary.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/time_span.h"
#include "cli/timeline_text.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "convert/places.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

constexpr size_t kPlainWidth = 80, kMaxTracks = 40, kWidestTimeline = 1'000;

size_t parse_width(const std::string& text) {
  const uint64_t width = base::parse_count(text);
  if (width < kMinTimelineWidth || width > kWidestTimeline)
    throw InvalidArgument(
        base::format("'{}' is not a width for a timeline: give {} to {}", text, kMinTimelineWidth, kWidestTimeline));
  return width;
}

uint16_t parse_depth(const std::string& text) {
  constexpr uint64_t kDeepest = 1'000;
  const uint64_t depth = text == "0" ? 0 : base::parse_count(text);
  if (depth > kDeepest) throw InvalidArgument(base::format("'{}' is too deep: give 0 to {}", text, kDeepest));
  return static_cast<uint16_t>(depth);
}

size_t longest_name(const trace::Reader& reader, const convert::TrackChoice& choice) {
  const convert::Places places(reader);
  size_t longest = 0;
  for (const convert::Place& place : places.all())
    if (choice.contains(place.writer->id, place.track->id))
      longest = std::max(longest, base::display_width(base::printable(place.name)));
  return longest;
}

}  // namespace

int timeline(const Arguments& arguments) {
  std::string path;
  TimeSpanOptions given;
  std::vector<std::string> tracks;
  views::TimelineOptions options;
  size_t width = std::max(kMinTimelineWidth, terminal_width(Stream::Output).value_or(kPlainWidth));
  bool strict = false;
  options::CommandLine line(
      "timeline", "kymo timeline FILE [options]",
      "Shows the threads and device queues of a trace on one screen. A row is a track, and its length is the time. A\n"
      "shade says how busy a column is (░ up to 25 %, ▒ 50 %, ▓ 75 %, █ more), and the number at the end how busy the\n"
      "track is. [name ] is one long range, [name > one that has not ended. A name without brackets stands on columns\n"
      "where ranges of this name have the most time.\n"
      "Times count from the first event: 1.5s, 300ms. Negative times count from the end.",
      "kymo timeline run.kymo\nkymo timeline run.kymo --from 1s --to 1.2s --track 'worker*' --depth 1");
  line.argument("FILE", path, "the trace");
  add_time_span(line, given);
  line.values("--track", "NAME", tracks,
              "only this thread or queue: its name, process/name, or a\npattern such as 'worker*'; can be repeated");
  line.text(
      "--depth", "N", [&](const std::string& text) { options.depth = parse_depth(text); },
      "ranges at this depth; default: 0, which is the outermost");
  line.text(
      "--width", "N", [&](const std::string& text) { width = parse_width(text); },
      "columns of the text; default: the terminal's, or 80");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  trace::Reader reader = open_trace(path);
  const convert::TrackChoice choice(reader, tracks);
  const convert::TraceTimes times(reader);
  views::Timeline result;
  if (times.empty()) {
    result.problems = reader.problems();
    print("no events\n");
  } else {
    const TimeSpan span = time_span(given, times, "timeline");
    options.from_ns = span.from_ns;
    options.to_ns = span.to_ns.value_or(times.length_ns());
    if (!given.is_empty()) reader.narrow(times.between(span.from_ns, span.to_ns));
    const TimelineLayout layout = timeline_layout(std::min(width, kWidestTimeline), longest_name(reader, choice));
    options.columns = layout.columns;
    {
      const ReadProgress progress(reader, "reading " + path);
      result = views::make_timeline(reader, times, choice, options);
    }
    print(timeline_text(result, options, layout, tracks.empty() ? kMaxTracks : result.rows.size()));
  }
  const Ledger ledger(analyze::summarise(reader), result.problems);
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
