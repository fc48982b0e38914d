// `kymo flame`: a flame graph of a trace, as a picture or for other tools.
#include "analyze/views/flame.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "analyze/functions/flame_paths.h"
#include "analyze/functions/functions.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/stats.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using functions::FlameBy;

class PrintedStream : public convert::ExportStream {
 public:
  void write(std::string_view bytes) override { print(bytes); }
};

views::FlameFormat format_of(const std::string& output) {
  if (output.empty()) return views::FlameFormat::Folded;
  try {
    return views::flame_format_of(output);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("flame", error.what());
  }
}

constexpr const char* kKindNames[] = {"all", "process", "track", "range", "work", "function", "unfinished"};

std::string as_json(const views::Paths& paths, const std::string& path, const std::string& before,
                    const Ledger& ledger) {
  return ledger.document(path, [&](base::JsonWriter& json) {
    if (paths.is_compared) json.field("compared_to", before);
    json.objects("frames", paths.frames, [&](const views::PathFrame& frame) {
      json.field("name", frame.name);
      json.field("kind", kKindNames[static_cast<size_t>(frame.kind)]);
      json.field("depth", frame.depth);
      json.field("count", frame.count);
      json.field("total_ns", frame.total_ns);
      json.field("self_ns", frame.self_ns);
      if (paths.is_compared) {
        json.field("before_total_ns", frame.before_total_ns);
        json.field("before_self_ns", frame.before_self_ns);
      }
    });
    json.field("unfinished", paths.unfinished);
    json.field("over_limit", paths.over_limit);
  });
}

// The output is opened first, so that a file that cannot be written is reported before the trace is read.
std::unique_ptr<convert::ExportStream> open_output(const std::string& output) {
  if (output.empty()) return std::make_unique<PrintedStream>();
  return std::make_unique<convert::FileStream>(output);
}

// A trace that has only samples is shown by function.
FlameBy default_of(const trace::Reader& reader) {
  const bool has_ranges =
      std::ranges::any_of(reader.event_chunks(), [](const auto& chunk) { return chunk.range_count != 0; });
  return functions::has_samples(reader) && !has_ranges ? FlameBy::Function : FlameBy::Range;
}

// Why there is no frame, and what to do.
std::string no_frames_text(FlameBy by, const trace::Reader& reader, const std::string& path) {
  using functions::What;
  if (by == FlameBy::Device) return base::format("{} has no work of a device: --by range shows its threads", path);
  if (by == FlameBy::Range && functions::has_samples(reader))
    return base::format("{} has no ranges on threads or devices, only samples: --by function shows them", path);
  if (by == FlameBy::Range)
    return base::format(
        "{} has no ranges on threads or devices, and no samples: annotate the program, or record more of its CPU time "
        "with kymo record",
        path);
  const What what = by == FlameBy::Wait ? What::Waits : What::Cpu;
  return base::format("{} has {}", path, nothing_text(what, functions::was_requested(reader, what)));
}

}  // namespace

int flame(const Arguments& arguments) {
  std::string path, output, before;
  views::PathOptions options;
  bool json = false, strict = false;
  options::CommandLine line(
      "flame", "kymo flame FILE [-o OUT] [options]",
      "Shows where the time went, by path: process, thread or device queue, range, range inside, and so on. The file\n"
      "extension of OUT selects the format:\n"
      "  .svg              a flame graph for a web browser: point to a frame for its times, click to enlarge it\n"
      "  .folded           a line for each path, with its self time in nanoseconds\n"
      "  .speedscope.json  for speedscope.app, with a profile for each thread and queue\n"
      "Without OUT, or with -, it prints the lines of .folded. Threads of a process that have the same name are one.\n"
      "Ranges that have not ended count until their process was last seen alive; the frame '(unfinished)' inside has\n"
      "their self time. Ranges across threads are not included, because they are inside of nothing.\n"
      "With --by function, the frames are functions, from samples, inside the innermost range of their time. This is "
      "the\n"
      "default if a trace has samples and no ranges.\n"
      "With --compare, it shows what changed since another trace: a frame is red if its self time is longer than\n"
      "before, and blue if it is shorter. Widths are those of FILE. A line of .folded has both times. Processes with "
      "one\n"
      "name are one.",
      "kymo flame run.kymo -o run.svg\nkymo flame run.kymo | flamegraph.pl --countname ns > run.svg\n"
      "kymo flame --compare before.kymo after.kymo -o change.svg");
  line.argument("FILE", path, "the trace");
  line.value("-o,--output", "OUT", output, "the file to write");
  std::optional<FlameBy> wanted;
  line.choice(
      "--by", wanted,
      {{"range", FlameBy::Range},
       {"function", FlameBy::Function},
       {"wait", FlameBy::Wait},
       {"device", FlameBy::Device}},
      "what a frame stands for; default: range. wait: time\noff the CPU, by function; device: what launched the\n"
      "work of devices, and the work");
  line.value("--compare", "BEFORE", before, "the trace to compare with");
  line.flag("--full-text", options.full_text,
            "separate frames for 'step 7' and 'step 8', instead of one for 'step {}'");
  line.flag("--json", json, "as JSON: each frame is followed by those inside it");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  if (json && !output.empty()) throw options::UsageError("flame", "--json prints the frames: give it without -o");
  if (output == "-") output.clear();
  const views::FlameFormat format = format_of(output);
  options.without_pids = !before.empty();
  if (options.without_pids && format == views::FlameFormat::Speedscope)
    throw options::UsageError("flame", "--compare writes .svg, .folded or --json, not for speedscope");
  const trace::Reader reader = open_trace(path);
  const FlameBy by = wanted.value_or(default_of(reader));
  const std::unique_ptr<convert::ExportStream> out = open_output(output);
  views::Paths paths;
  {
    const ReadProgress progress(reader, "reading " + path);
    paths = functions::flame_paths(by, reader, options);
  }
  if (!before.empty()) {
    const trace::Reader before_reader = open_trace(before);
    const ReadProgress progress(before_reader, "reading " + before);
    const views::Paths before_paths = functions::flame_paths(by, before_reader, options);
    const Ledger before_ledger(analyze::summarise(before_reader), before_paths.problems);
    if (!before_ledger.empty()) {
      say(base::printable(before) + " is not complete:");
      before_ledger.show();
    }
    if (before_paths.frames.size() <= 1) say(no_frames_text(by, before_reader, base::printable(before)));
    paths = views::compare_paths(before_paths, paths);
  }
  const Ledger ledger(analyze::summarise(reader), paths.problems);
  if (json)
    print(as_json(paths, path, before, ledger));
  else
    views::write_flame(paths, format, before.empty() ? path : path + " after " + before, *out);
  out->finish();
  if (paths.frames.size() <= 1) say(no_frames_text(by, reader, base::printable(path)));
  if (paths.over_limit != 0)
    say(base::format("{} beyond the limits of {} paths and {} levels: their time is counted in the range around them",
                     count_of(paths.over_limit, "range is", "ranges are"), count_text(options.max_paths),
                     count_text(options.max_depth)));
  return ledger.finish(strict);
}

}  // namespace kymo::cli
