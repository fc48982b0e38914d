#include "commands/read/path.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyze/functions/causes.h"
#include "analyze/path/path.h"
#include "analyze/path/what_if.h"
#include "analyze/report/host_time.h"
#include "analyze/report/iterations.h"
#include "analyze/report/profiler_times.h"
#include "analyze/report/unfinished.h"
#include "analyze/summary.h"
#include "base/iteration_name.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/version.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "convert/copy.h"
#include "convert/formats/export.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "symbols/short_name.h"
#include "trace/model.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::cli {
namespace {

constexpr uint32_t kClock = 1, kTrack = 1;
constexpr size_t kPerChunk = 32'768;

// The path as the only track of a writer of its own. Its ticks are nanoseconds of the host's clock.
void append_path(trace::Writer& writer, const trace::Reader& reader, const analyze::EventWalk& walk,
                 const analyze::Activity& activity, const std::vector<analyze::PathSegment>& path) {
  const trace::WriterId id = trace::random_writer_id();
  const trace::WriterInfo& main = *walk.tracks()[path.front().track].writer;
  trace::Origin origin = main.origin;
  origin.announces_ending = 0;
  origin.metadata = {{"computed from", reader.path()}};
  writer.origin(id, origin);
  trace::ClockDomain clock;
  clock.id = kClock;
  const auto domain = main.clocks.find(kClock);
  if (domain != main.clocks.end()) {
    clock.boot_id = domain->second.boot_id;
    for (const trace::ClockPair& pair : domain->second.pairs)
      clock.pairs.push_back({pair.monotonic_ns, pair.monotonic_ns, pair.realtime_ns, pair.error_ns});
  }
  writer.clock(id, clock);
  trace::Track track;
  track.id = kTrack;
  track.clock = kClock;
  track.name = "critical path";
  writer.tracks(id, {&track, 1});

  std::map<std::string, uint32_t> classes;
  std::vector<trace::EventClass> made;
  trace::EventBatch batch;
  batch.track = batch.ring = kTrack;
  const auto flush = [&] {
    if (!made.empty()) writer.classes(id, made);
    made.clear();
    batch.sequence_end = batch.sequence_begin + batch.ranges.size();
    writer.events(id, batch);
    batch.sequence_begin = batch.sequence_end;
    batch.ranges = {};
  };
  for (const analyze::PathSegment& segment : path) {
    const analyze::TrackOfTrace& where = walk.tracks()[segment.track];
    std::string name(analyze::text_of(segment.kind));
    if (segment.kind == analyze::PathKind::Operation) {
      const auto known = where.writer->classes.find(activity.operations[segment.operation].class_id);
      if (known != where.writer->classes.end()) name = trace::shown_name(known->second);
    } else if (segment.kind == analyze::PathKind::Host) {
      name = where.name();
    }
    const auto [entry, is_new] = classes.try_emplace(name, static_cast<uint32_t>(classes.size() + 1));
    if (is_new) made.push_back({entry->second, name, "critical path", 0, {}});
    batch.ranges.end.push_back(static_cast<uint64_t>(segment.end));
    batch.ranges.duration.push_back(static_cast<uint64_t>(segment.length()));
    batch.ranges.class_id.push_back(entry->second);
    batch.ranges.depth.push_back(0);
    if (batch.ranges.size() >= kPerChunk) flush();
  }
  flush();
}

}  // namespace

void write_with_path(const trace::Reader& reader, const analyze::EventWalk& walk, const analyze::Activity& activity,
                     const std::vector<analyze::PathSegment>& path, const std::string& input,
                     const std::string& output) {
  const auto write = [&](const std::string& to, const std::string& name) {
    trace::Writer writer(to, trace::Writer::Mode::Append, name);
    convert::copy_trace(reader, writer);
    append_path(writer, reader, walk, activity, path);
    writer.close();
  };
  refuse_input(output, {input});
  if (output.ends_with(".kymo")) {
    TraceOutput file(output, {input});
    write(file.temporary_path(), output);
    return file.commit();
  }
  const base::TemporaryFile copy;
  write(copy.path(), copy.name());
  try {
    convert::export_trace(trace::Reader(copy.path(), input), output);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("path", error.what());
  }
}

namespace {

// `kymo path`: the critical path of an iteration, and what it would be if something were faster.

using analyze::Interval;
using analyze::PathKind;
using analyze::PathSegment;

constexpr size_t kRows = 25;

struct Change {
  std::string glob;
  double factor = 1;
  bool matches = false;  // a name of the iteration
};

struct Options {
  std::string path, output, iteration = "median";
  std::vector<Change> changes;
  bool json = false, all = false;
};

struct PathRow {
  std::string what, where;
  int64_t ns = 0;
  uint64_t count = 0;
};

Change parse_change(const std::string& text) {
  const size_t equals = text.rfind('=');
  Change change;
  if (equals != std::string::npos && equals > 0) {
    change.glob = text.substr(0, equals);
    const std::string number = text.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), change.factor);
    const bool is_number = error != std::errc::invalid_argument && end == number.data() + number.size();
    constexpr double kLargest = 1000;
    if (is_number && error == std::errc() && change.factor >= 0 && change.factor <= kLargest) return change;
    if (is_number)
      throw InvalidArgument(base::format("'{}': the factor {} is out of range; use 0 to 1000", text, number));
  }
  throw InvalidArgument(base::format("'{}' is not a change: write it like 'gemm*=0.5', for half of the time", text));
}

size_t choose_iteration(const analyze::Iterations& iterations, const std::string& which) {
  const std::vector<Interval>& list = iterations.list;
  if (which == "median") return iterations.median();
  if (which == "longest") return iterations.longest();
  size_t number = 0;
  const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), number);
  if (error == std::errc::invalid_argument || end != which.data() + which.size())
    throw options::UsageError("path", base::format("--iteration: '{}' is not a number, 'median' or 'longest'", which));
  if (error != std::errc() || number >= list.size())
    throw options::UsageError("path", base::format("--iteration {} is out of range: the trace has {}", which,
                                                   count_of(list.size(), "iteration")));
  return number;
}

// A range that never ends may begin before the first event.
void add_unfinished(const std::vector<analyze::Unfinished>& unfinished, Interval& window) {
  for (const analyze::Unfinished& one : unfinished) {
    const bool is_first = window == Interval{};
    window = {is_first ? one.outer_begin : std::min(window.begin, one.outer_begin),
              is_first ? one.until : std::max(window.end, one.until)};
  }
}

std::string name_of(const analyze::EventWalk& walk, uint32_t track, uint32_t class_id) {
  const auto& classes = walk.tracks()[track].writer->classes;
  const auto known = classes.find(class_id);
  return known == classes.end() ? "(no name)" : trace::shown_name(known->second);
}

// The name of a thread or queue. With several ranks, all have the same names, so it also says which process it is.
std::string place_of(const analyze::EventWalk& walk, uint32_t track) {
  const analyze::TrackOfTrace& one = walk.tracks()[track];
  const bool has_ranks = std::any_of(walk.tracks().begin(), walk.tracks().end(), [&](const auto& other) {
    return other.on_device && other.writer_number != one.writer_number;
  });
  if (!has_ranks) {
    const bool is_unique = std::ranges::none_of(walk.tracks(), [&](const auto& other) {
      return !one.on_device && !other.on_device && other.number != one.number && other.track->tid != one.track->tid &&
             other.name() == one.name();
    });
    return is_unique ? one.name() : base::format("{} (thread {})", one.name(), one.track->tid);
  }
  const trace::Origin& origin = one.writer->origin;
  return base::format("{} of process {}{}{}", one.name(), origin.pid, origin.host.empty() ? "" : " on ", origin.host);
}

// By track, of the threads of which the trace says when they ran.
using StatesOfTracks = std::map<uint32_t, const analyze::ThreadStates*>;
StatesOfTracks states_of_tracks(const analyze::StatesOfThreads& states, const std::vector<uint32_t>& tracks) {
  std::map<std::string_view, const analyze::ThreadStates*> by_key;
  for (const analyze::ThreadStates& one : states.threads) by_key.emplace(one.key, &one);
  StatesOfTracks found;
  for (size_t i = 0; i < tracks.size(); ++i)
    if (const auto known = by_key.find(states.keys[i]); tracks[i] != analyze::kNone && known != by_key.end())
      found.emplace(tracks[i], known->second);
  return found;
}

// Of a program without ranges, the path ends on the main thread that lived longest.
uint32_t longest_thread(const StatesOfTracks& states) {
  uint32_t found = analyze::kNone;
  std::pair<bool, uint64_t> most;  // the main thread of a process, if any of them did something
  for (const auto& [track, one] : states)
    if (const std::pair length(one->pid == one->tid, one->life_ns()); found == analyze::kNone || length > most)
      std::tie(found, most) = std::pair(track, length);
  return found;
}

// Sums by name. Host segments are divided into the self times of the ranges in them; those of a thread without ranges
// into what it did.
std::vector<PathRow> rows_of(analyze::EventWalk& walk, const analyze::Activity& activity, const StatesOfTracks& states,
                             const std::vector<PathSegment>& path) {
  std::map<std::pair<std::string, std::string>, PathRow> rows;
  const auto add = [&](std::string what, std::string where, int64_t ns, uint64_t count) {
    if (ns <= 0) return;
    PathRow& row = rows[{what, where}];
    row.what = std::move(what);
    row.where = std::move(where);
    row.ns += ns;
    row.count += count;
  };
  std::map<uint32_t, std::vector<Interval>> host;
  for (const PathSegment& segment : path) {
    if (segment.kind == PathKind::Host) {
      host[segment.track].push_back({segment.begin, segment.end});
    } else if (segment.kind == PathKind::Operation) {
      add(name_of(walk, segment.track, activity.operations[segment.operation].class_id), place_of(walk, segment.track),
          segment.length(), 1);
    } else {
      add("(" + std::string(text_of(segment.kind)) + ")", place_of(walk, segment.track), segment.length(), 1);
    }
  }
  std::map<uint32_t, analyze::Intervals> times;
  for (auto& [track, intervals] : host) {
    const auto known = states.find(track);
    const auto thread = activity.threads.find(track);
    const bool has_ranges = thread != activity.threads.end() && !thread->second.ranges.empty();
    if (has_ranges || known == states.end() || known->second->spans.empty()) {
      times.emplace(track, analyze::Intervals(std::move(intervals)));
      continue;
    }
    const analyze::StateTimes of_thread(*known->second);
    std::map<std::string_view, int64_t> sums;
    for (const Interval& one : intervals) {
      const auto [running, waiting, ready] = of_thread.between(one.begin, one.end);
      int64_t left = one.end - one.begin;
      for (const auto& [what, ns] : {std::pair("(running)", running), std::pair("(waiting)", waiting),
                                     std::pair("(ready, but others ran)", ready)}) {
        const int64_t part = std::min(left, static_cast<int64_t>(ns));
        sums[what] += part;
        left -= part;
      }
      sums["(not known)"] += left;
    }
    for (const auto& [what, ns] : sums) add(std::string(what), place_of(walk, track), ns, 1);
  }
  for (const auto& [track, time] : analyze::host_time(walk, times)) {
    const std::string where = place_of(walk, track);
    for (const analyze::HostRow& row : time.rows) add(row.name, where, static_cast<int64_t>(row.self_ns), row.count);
    add("(outside of any range)", where, static_cast<int64_t>(time.outside_ns), 1);
    add(base::format("({})", analyze::kProfilingPart), where, static_cast<int64_t>(time.profiling_ns), 1);
  }
  std::vector<PathRow> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  std::ranges::stable_sort(all, std::ranges::greater(), &PathRow::ns);
  return all;
}

struct Page {
  std::string iteration;  // "iteration 3 of 20"
  uint32_t track = 0;     // of the thread that the path ends on
  int64_t length = 0;
  std::vector<PathRow> rows;
  std::vector<PathSegment> segments;
  std::vector<std::pair<std::string, analyze::WhatIf>> what_if;
  uint64_t left_out = 0;
  uint64_t unfinished = 0;  // threads that hang
  std::string missing_wake_ups;
  int64_t begin = 0;
};

std::string text_of(const Page& page, bool all) {
  const auto time_of = [](int64_t ns) { return duration_text(static_cast<uint64_t>(ns)); };
  const auto share_of = [&](int64_t ns) {
    return percent_text(static_cast<uint64_t>(ns), static_cast<uint64_t>(page.length));
  };
  std::string text = base::format("critical path of {}: {} in {}\n", page.iteration, time_of(page.length),
                                  count_of(page.segments.size(), "segment"));
  base::TextTable table({"time", "share", "count"}, {{"where"}, {"what"}});
  int64_t rest = 0;
  for (size_t i = 0; i < page.rows.size(); ++i) {
    const PathRow& row = page.rows[i];
    if (!all && i >= kRows) {
      rest += row.ns;
      continue;
    }
    table.add(
        {time_of(row.ns), share_of(row.ns), count_text(row.count), base::printable(row.where),
         base::printable(row.what.size() <= symbols::kShownNameWidth ? row.what : symbols::short_name(row.what))});
  }
  text += shown(table);
  if (rest > 0)
    text +=
        base::format("{} in {} more names (--all shows them)\n", time_of(rest), count_text(page.rows.size() - kRows));
  for (const auto& [what, changed] : page.what_if) {
    const int64_t saved = page.length - changed.length;
    text += base::format("with {}: {} ({} {}, {}; these names have {} of the path)\n", base::printable(what),
                         time_of(changed.length), time_of(std::abs(saved)), saved >= 0 ? "less" : "more",
                         share_of(std::abs(saved)), time_of(changed.on_path));
  }
  if (page.unfinished > 0)
    text += base::format("{} left ranges open: they may hang (kymo report shows where)\n",
                         count_of(page.unfinished, "thread"));
  if (!page.missing_wake_ups.empty())
    text += base::format("which thread ended a wait of another one is {}\n", base::printable(page.missing_wake_ups));
  if (page.left_out > 0)
    text += base::format("{} are left out: there are too many\n", count_of(page.left_out, "range"));
  return text;
}

std::string json_of(const analyze::EventWalk& walk, const analyze::Activity& activity, const Page& page) {
  base::JsonWriter json;
  json.begin_object();
  json.field("iteration", page.iteration);
  json.field("length_ns", page.length);
  json.field("thread", place_of(walk, page.track));
  json.objects("rows", page.rows, [&](const PathRow& row) {
    json.field("what", row.what);
    json.field("where", row.where);
    json.field("ns", row.ns);
    json.field("count", row.count);
  });
  json.objects("segments", page.segments, [&](const PathSegment& segment) {
    json.field("start_ns", segment.begin - page.begin);
    json.field("duration_ns", segment.length());
    json.field("kind", analyze::text_of(segment.kind));
    json.field("where", place_of(walk, segment.track));
    if (segment.kind == PathKind::Operation)
      json.field("name", name_of(walk, segment.track, activity.operations[segment.operation].class_id));
  });
  json.begin_array("what_if");
  for (const auto& [what, changed] : page.what_if) {
    json.begin_object();
    json.field("change", what);
    json.field("length_ns", changed.length);
    json.field("on_path_ns", changed.on_path);
    json.end_object();
  }
  json.end_array();
  json.field("left_out", page.left_out);
  json.field("unfinished", page.unfinished);
  json.field("missing_wake_ups", page.missing_wake_ups);
  json.end_object();
  return json.text();
}

}  // namespace

int path_command(const Arguments& arguments) {
  Options options;
  bool strict = false;
  options::CommandLine line(
      "path", "kymo path FILE [--iteration N] [--what-if 'GLOB=FACTOR']",
      "Shows the critical path of an iteration: the chain of work that its end waited for, through threads, launches,\n"
      "queues, flows and ranks. Its parts sum to the length of the iteration.\n"
      "--what-if computes the length if the time of the names that match GLOB were multiplied by FACTOR.\n"
      "With -o it also writes the trace with the path on a track of its own, in any format of 'kymo export' or as "
      ".kymo.",
      "kymo path run.kymo\nkymo path trace.json.gz --iteration longest --what-if 'gemm*=0.5'\n"
      "kymo path run.kymo -o path.pftrace");
  line.argument("FILE", options.path, "the trace; also of another tool");
  line.value("--iteration", "N", options.iteration, "its number from 0, 'median' (the default) or 'longest'");
  line.text(
      "--what-if", "CHANGE", [&](const std::string& text) { options.changes.push_back(parse_change(text)); },
      "'gemm*=0.5': half of the time in these names. May be given several times; all changes apply together");
  line.value("-o,--output", "OUT", options.output, "write the trace with the path");
  line.flag("--all", options.all, "show all names");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  line.flag("--json", options.json, "print everything as JSON");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(options.path);
  std::optional<ReadProgress> progress(std::in_place, reader, "reading " + options.path);
  analyze::EventWalk walk(reader);
  analyze::DeviceWork work = analyze::read_device_work(walk);
  const analyze::Iterations iterations = analyze::find_iterations(walk, analyze::launching_track(work));
  const bool is_whole = iterations.source == analyze::Iterations::Source::WholeTrace;
  const bool launches = analyze::launching_track(work).has_value();
  const std::vector<analyze::Unfinished> unfinished = analyze::find_unfinished(walk);
  const analyze::StatesOfThreads states = functions::read_thread_states_and_stacks(reader);
  Page page;
  page.unfinished = unfinished.size();
  analyze::Activity activity;
  size_t number = 0;
  Interval window;
  if (!iterations.list.empty()) {
    number = choose_iteration(iterations, options.iteration);
    window = iterations.list[number];
    if (is_whole) add_unfinished(unfinished, window);
  } else if (!states.threads.empty()) {
    window = {walk.first_ns(), walk.last_ns()};
  }
  StatesOfTracks threads;
  if (window.begin < window.end) {
    activity = analyze::read_activity(walk, std::move(work), window, &states);
    threads = states_of_tracks(states, analyze::tracks_of_threads(walk, activity, states));
    // Of the whole trace, a thread that hangs in a range counts as well.
    page.track = iterations.track && (!is_whole || launches) ? *iterations.track : activity.busiest_thread();
    if (page.track == analyze::kNone) page.track = longest_thread(threads);
  }
  if (window.begin >= window.end || page.track == analyze::kNone) {
    progress.reset();
    Ledger(analyze::summarise(reader), walk.problems()).show();  // the ranges may be what was lost
    throw Error(base::format("{} has no ranges and no samples on a thread, so it has no critical path", options.path));
  }
  page.begin = activity.window.begin;
  page.length = activity.window.end - activity.window.begin;
  page.iteration =
      is_whole ? std::string("the whole trace") : base::format("iteration {} of {}", number, iterations.list.size());
  page.segments = analyze::critical_path(activity, page.track);
  page.rows = rows_of(walk, activity, threads, page.segments);
  page.missing_wake_ups = states.missing_wake_ups;
  page.left_out = activity.left_out;
  if (!options.changes.empty()) {
    std::string all;
    for (const Change& change : options.changes)
      all += base::format("{}{}={}", all.empty() ? "" : ", ", change.glob, change.factor);
    const analyze::FactorOf factor_of = [&](std::string_view name) {
      double factor = 1;
      for (Change& change : options.changes) {
        const std::string shown = base::without_iteration_number(name);  // as the table has it
        if (::fnmatch(change.glob.c_str(), std::string(name).c_str(), 0) != 0 &&
            ::fnmatch(change.glob.c_str(), shown.c_str(), 0) != 0)
          continue;
        factor *= change.factor;
        change.matches = true;
      }
      return factor;
    };
    const analyze::WhatIf changed = analyze::what_if(walk, activity, page.track, page.segments, factor_of);
    for (const Change& change : options.changes)
      if (!change.matches)
        say_warning(base::format("--what-if: no name of this iteration matches '{}'", base::printable(change.glob)));
    page.what_if.emplace_back(all, changed);
  }
  progress.reset();
  if (!options.output.empty()) write_with_path(reader, walk, activity, page.segments, options.path, options.output);
  print(options.json ? json_of(walk, activity, page) : text_of(page, options.all));
  const Ledger ledger(analyze::summarise(reader), walk.problems());
  return ledger.finish(strict);
}

}  // namespace kymo::cli
