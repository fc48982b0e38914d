// `kymo cut`: writes the part of a trace that is inside its window, or between two times.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analyze/summary.h"
#include "base/atomic_file.h"
#include "base/output_path.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "convert/copy.h"
#include "convert/trace_times.h"
#include "options/command_line.h"
#include "trace/format.h"

namespace kymo::cli {
namespace {

// A time as the user gives it.
struct CutTime {
  std::string text;
  uint64_t ns = 0;
  bool from_end = false;
};

CutTime parse_cut_time(const std::string& text) {
  const bool from_end = text.starts_with('-');
  const uint64_t ns = base::parse_duration_ns(std::string_view(text).substr(from_end ? 1 : 0),
                                              "1.5s or 300ms, or -300ms to count from the end");
  return {text, ns, from_end};
}

// Counted from the first event.
uint64_t place_of(const CutTime& time, uint64_t length_ns) {
  return time.from_end ? length_ns - std::min(time.ns, length_ns) : time.ns;
}

void narrow(trace::Reader& reader, const std::optional<CutTime>& from, const std::optional<CutTime>& to) {
  const auto& writers = reader.writers();
  if (!from && !to) {
    if (std::any_of(writers.begin(), writers.end(),
                    [](const auto& writer) { return writer.second.window.has_value(); }))
      return;
    throw Error(base::format("{} states no window to cut it to: give --from, --to or both", reader.path()));
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
  const uint64_t length_ns = times.length_ns();
  const uint64_t begin = from ? place_of(*from, length_ns) : 0;
  auto end = to ? std::optional(place_of(*to, length_ns)) : std::nullopt;
  if (begin > length_ns) {
    throw options::UsageError("cut", base::format("--from {} is after the last event of the trace, which is {} long: "
                                                  "give an earlier time",
                                                  from->text, duration_text(length_ns)));
  }
  if (end && begin > *end) {
    throw options::UsageError("cut", base::format("--from {} is after --to {}: give an earlier --from or a later --to",
                                                  from->text, to->text));
  }
  if (end && begin == *end) {
    throw options::UsageError(
        "cut", base::format("the part from {} to {} is empty, because its end is not in it: give a later --to",
                            from ? from->text : "the first event", to->text));
  }
  if (end && *end > length_ns) end.reset();
  reader.narrow(times.between(begin, end));
}

// A trace may be replaced, but not the one that is read. Any other file may not.
void check_output(const std::string& path, const std::string& output) {
  struct stat input {
  }, existing{};
  const std::string file = base::output_path(output);
  if (::stat(file.c_str(), &existing) != 0) return;
  if (::stat(path.c_str(), &input) == 0 && input.st_dev == existing.st_dev && input.st_ino == existing.st_ino)
    throw options::UsageError("cut",
                              base::format("cannot write {}: it is the trace that is cut; name another file", output));
  const base::FileDescriptor there(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!there) throw base::file_error("read", output, errno);
  std::array<std::byte, trace::kMagic.size()> beginning;
  const size_t length = base::read_at(there, output, 0, beginning);
  if (!std::equal(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(length),
                  std::as_bytes(std::span(trace::kMagic)).begin()))
    throw Error(base::format("cannot write {}: it is there and is not a Kymo trace; name another file", output));
}

void write(const trace::Reader& reader, const std::string& output) {
  base::AtomicFile file(output);
  trace::Writer writer(file.temporary_path(), trace::Writer::Mode::Append, output);
  convert::copy_trace(reader, writer);
  writer.close();
  file.commit();
}

}  // namespace

int cut(const Arguments& arguments) {
  std::string path, output;
  std::optional<CutTime> from, to;
  bool strict = false;
  options::CommandLine line(
      "cut", "kymo cut FILE -o OUT [--from TIME] [--to TIME]",
      "Writes a trace that contains only a part of another: what is between two times, or what is inside the\n"
      "window that the trace states. A trace on demand states the time span that was requested. Its file contains\n"
      "a little more, which no command shows. Ranges that cross an edge are cut there.\n"
      "Times count from the first event, which 'kymo info' shows: 1.5s, 300ms. Negative times count from the end.\n"
      "An event at the time --from is in the part, an event at the time --to is not.",
      "kymo cut run.kymo -o start.kymo --to 1.5s\nkymo cut run.kymo -o end.kymo --from -300ms\n"
      "kymo cut train-15951.kymo -o small.kymo");
  line.argument("FILE", path, "the trace");
  line.required_value("-o,--output", "OUT", output, "the trace to write");
  line.text(
      "--from", "TIME", [&](const std::string& text) { from = parse_cut_time(text); },
      "start here; default: at the first event");
  line.text(
      "--to", "TIME", [&](const std::string& text) { to = parse_cut_time(text); },
      "end before this time; default: after the last event");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  refuse_standard_output("cut", output);

  trace::Reader reader = open_trace(path);
  narrow(reader, from, to);
  check_output(path, output);
  write(reader, output);
  const analyze::Summary summary = analyze::summarise(trace::Reader(output));
  if (summary.events() == 0)
    say_warning(base::format("{} is empty: no event is in this part", base::printable(output)));
  print(base::format("{}: {} in {}\n", base::printable(output), count_of(summary.events(), "event"),
                     duration_text(summary.duration_ns)));
  const Ledger ledger(summary, reader.problems());
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
