// `kymo cut`: writes the part of a trace that is inside its window, or between two times.

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/summary.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/time_span.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/convert/commands.h"
#include "convert/copy.h"
#include "convert/places.h"
#include "convert/trace_times.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

// Tracks alone are a reason to cut.
void narrow(trace::Reader& reader, const TimeSpanOptions& options, bool by_track) {
  const auto& writers = reader.writers();
  if (options.is_empty()) {
    if (by_track || std::any_of(writers.begin(), writers.end(),
                                [](const auto& writer) { return writer.second.window.has_value(); }))
      return;
    throw Error(
        base::format("{} states no window to cut it to: give --from, --to, --track or several of them", reader.path()));
  }
  const convert::TraceTimes times(reader);
  if (times.empty()) {
    const bool has_events = std::any_of(reader.event_chunks().begin(), reader.event_chunks().end(),
                                        [](const auto& chunk) { return chunk.range_count + chunk.point_count != 0; });
    throw Error(base::format("{} {}", reader.path(),
                             has_events
                                 ? "has no clock that can be converted, so it cannot be cut by time: the trace is "
                                   "damaged ('kymo info' says more)"
                                 : "has no events, so there is nothing to cut"));
  }
  const TimeSpan span = time_span(options, times, "cut");
  reader.narrow(times.between(span.from_ns, span.to_ns));
}

void write(const trace::Reader& reader, const convert::TrackChoice& tracks, const std::string& output) {
  TraceOutput file(output, {reader.path()});
  trace::Writer writer(file.temporary_path(), trace::Writer::Mode::Append, output);
  {
    const ReadProgress progress(reader, "writing " + output);
    convert::copy_trace(reader, tracks, writer);
  }
  writer.close();
  file.commit();
}

}  // namespace

int cut(const Arguments& arguments) {
  std::string path, output;
  TimeSpanOptions span;
  std::vector<std::string> tracks;
  bool strict = false;
  options::CommandLine line(
      "cut", "kymo cut FILE -o OUT [--from TIME] [--to TIME] [--track NAME]",
      "Writes a trace that contains only a part of another: what is between two times, some of the tracks, or what\n"
      "is inside the window that the trace states. A trace on demand states the time span that was requested. Its\n"
      "file contains a little more, which no command shows. Ranges that cross an edge are cut there. A range across\n"
      "threads belongs to the track where it begins.\n"
      "Times count from the first event, which 'kymo info' shows: 1.5s, 300ms. Negative times count from the end.\n"
      "An event at the time --from is in the part, an event at the time --to is not.",
      "kymo cut run.kymo -o start.kymo --to 1.5s\nkymo cut run.kymo -o end.kymo --from -300ms\n"
      "kymo cut run.kymo -o main.kymo --track main --track 'GPU 0*/*'\nkymo cut train-15951.kymo -o small.kymo");
  line.argument("FILE", path, "the trace");
  line.required_value("-o,--output", "OUT", output, "the trace to write");
  add_time_span(line, span);
  line.values("--track", "NAME", tracks,
              "only this thread or queue: its name, process/name, or a\npattern such as 'worker*'; can be repeated");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  refuse_standard_output("cut", output);

  trace::Reader reader = open_trace(path);
  const convert::TrackChoice choice(reader, tracks);
  narrow(reader, span, !tracks.empty());
  write(reader, choice, output);
  const analyze::Summary summary = analyze::summarise(trace::Reader(output));
  if (summary.events() == 0)
    say_warning(base::format("{} is empty: no event is in this part", base::printable(output)));
  print(base::format("{}: {} in {}\n", base::printable(output), count_of(summary.events(), "event"),
                     duration_text(summary.duration_ns)));
  const Ledger ledger(summary, reader.problems());
  return ledger.finish(strict);
}

}  // namespace kymo::cli
