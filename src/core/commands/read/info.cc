// `kymo info`: shows what a trace contains, without reading its events.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/programs.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "options/command_line.h"
#include "record/interfaces.h"

namespace kymo::cli {
namespace {

using analyze::ProcessSummary;

constexpr std::string_view kInterfacePrefix = "interface.";  // of metadata
using analyze::Summary;
using analyze::TrackSummary;

// "./train --epochs 2", never cut: the command line is what the user looks for.
std::string command_line_of(const trace::Origin& origin) {
  std::string text;
  for (const std::string& word : origin.command_line) text += (text.empty() ? "" : " ") + base::printable(word);
  return text.empty() ? base::printable(origin.executable) : text;
}

bool is_queue(const TrackSummary& track) { return track.kind == trace::TrackKind::DeviceQueue; }

std::string track_name(const TrackSummary& track) {
  if (!track.name.empty()) return base::printable(track.name);
  if (track.kind == trace::TrackKind::Thread) return base::format("thread {}", track.tid);
  if (is_queue(track)) return base::format("queue {}", track.queue);
  return base::format("track {}", track.id);
}

std::string overhead_text(const TrackSummary& track) {
  if (track.cost_ns == 0 && track.blocked_ns == 0) return "";
  const double percent = 100 * track.distortion;
  std::string text = percent < 0.01 ? "<0.01 %"
                     : percent < 10 ? base::format("{:.2g} %", percent)
                                    : base::format("{:.0f} %", percent);
  if (track.blocked_ns > 0) text += base::format(", waited {}", duration_text(track.blocked_ns));
  return text;
}

std::string head(const Summary& summary) {
  const std::string path = coloured(base::printable(summary.path), Colour::Bold, Stream::Output);
  if (summary.events() == 0) return base::format("{}: no events, {}\n", path, bytes_text(summary.file_size));
  // In a small trace most bytes are about its processes, not its events.
  constexpr uint64_t kManyEvents = 10'000;
  const std::string each =
      summary.events() >= kManyEvents ? base::format(", {:.2f} bytes per event", summary.bytes_per_event) : "";
  const std::string when = summary.begin_realtime_ns == 0
                               ? "at an unknown time: the trace has no clock that can be converted"
                               : base::format("{} for {}", date_text(static_cast<uint64_t>(summary.begin_realtime_ns)),
                                              duration_text(summary.duration_ns));
  return base::format("{}: {} ({}, {}), {}{}\nrecorded {}\n", path, count_of(summary.events(), "event"),
                      count_of(summary.ranges, "range"), count_of(summary.points, "point"),
                      bytes_text(summary.file_size), each, when);
}

// The clocks of devices are shown with their queues.
std::string clocks_of(const ProcessSummary& process) {
  std::string text;
  for (const analyze::ClockSummary& clock : process.clocks) {
    if (clock.kind == trace::ClockKind::Device) continue;
    text += base::format("{}{}", text.empty() ? "" : ", ", analyze::clock_kind_text(clock.kind));
    text += clock.usable ? base::format(" ±{}", duration_text(clock.error_ns)) : " (cannot be converted)";
  }
  return text;
}

std::string clock_of(const TrackSummary& track, const ProcessSummary& process) {
  for (const analyze::ClockSummary& clock : process.clocks)
    if (clock.id == track.clock) return clock.usable ? base::format("±{}", duration_text(clock.error_ns)) : "none";
  return "none";
}

std::string window_of(const ProcessSummary& process) {
  if (!process.window) return "";
  const auto& [from_ns, to_ns] = *process.window;
  if (to_ns == 0) return "its end is not in the file; what was recorded before its start is not counted";
  return base::format("{}; what was recorded before and after it is not counted",
                      duration_text(to_ns - std::min(from_ns, to_ns)));
}

// "nvtx 1,234 events, 5 lost", from the metadata that the collector writes.
std::string interfaces_of(const trace::Origin& origin) {
  std::string text;
  for (const std::string_view name : record::kInterfaceNames) {
    const auto count = [&](std::string_view what) -> uint64_t {
      const std::string key = base::format("{}{}.{}", kInterfacePrefix, name, what);
      for (const auto& [known, value] : origin.metadata)
        if (known == key) return std::strtoull(value.c_str(), nullptr, 10);
      return 0;
    };
    const uint64_t events = count("events"), lost = count("lost"), cost_ns = count("cost_ns");
    if (events == 0 && lost == 0) continue;
    text += base::format("{}{} {}", text.empty() ? "" : "; ", name, count_of(events, "event"));
    if (lost != 0) text += base::format(", {} lost", count_text(lost));
    if (cost_ns != 0) text += base::format(", cost {}", duration_text(cost_ns));
  }
  return text;
}

// What is known about a process, as labels and values.
std::vector<std::pair<std::string, std::string>> facts_of(const ProcessSummary& process) {
  const trace::Origin& origin = process.origin;
  std::vector<std::pair<std::string, std::string>> facts = {
      {"command", command_line_of(origin)},
      {"host", base::printable(origin.host)},
      {"policy", base::printable(origin.policy)},
      {"interfaces", interfaces_of(origin)},
      {"recorder", origin.kymo_version.empty() ? "" : "kymo " + base::printable(origin.kymo_version)},
      {"window", window_of(process)},
      {"clock", clocks_of(process)},
      {"collector", process.collector_cpu_ns == 0 ? "" : duration_text(process.collector_cpu_ns) + " of CPU time"},
  };
  for (const auto& [name, value] : origin.metadata)
    if (!name.starts_with(kInterfacePrefix)) facts.emplace_back(base::printable(name), base::printable(value));
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

base::TextTable tracks_of(const ProcessSummary& process, const Summary& summary) {
  base::TextTable table({"events", "ranges", "points", "first", "last"},
                        {{"overhead"}, {"tid", base::TextTable::Align::Right}, {"track"}});
  for (const TrackSummary& track : process.tracks) {
    if (is_queue(track)) continue;
    const bool placed = track.last_realtime_ns != 0;
    table.add({count_text(track.events()), count_text(track.ranges), count_text(track.points),
               placed ? offset_text(track.first_realtime_ns - summary.begin_realtime_ns) : "",
               placed ? offset_text(track.last_realtime_ns - summary.begin_realtime_ns) : "", overhead_text(track),
               track.tid == 0 ? "" : std::to_string(track.tid), track_name(track)});
  }
  return table;
}

base::TextTable queues_of(const ProcessSummary& process, const Summary& summary) {
  base::TextTable table({"events", "ranges", "points", "first", "last", "clock", "context", "queue"},
                        {{"device"}, {"name"}});
  for (const TrackSummary& track : process.tracks) {
    if (!is_queue(track)) continue;
    const bool placed = track.last_realtime_ns != 0;
    table.add({count_text(track.events()), count_text(track.ranges), count_text(track.points),
               placed ? offset_text(track.first_realtime_ns - summary.begin_realtime_ns) : "",
               placed ? offset_text(track.last_realtime_ns - summary.begin_realtime_ns) : "", clock_of(track, process),
               std::to_string(track.context), std::to_string(track.queue),
               base::printable(track.device_name.empty() ? track.device_uuid : track.device_name), track_name(track)});
  }
  return table;
}

std::string describe(const ProcessSummary& process, const Summary& summary) {
  const std::string title = base::format("process {}", process.origin.pid);
  std::string text = base::format("\n{}\n", coloured(title, Colour::Bold, Stream::Output));
  const auto facts = facts_of(process);
  size_t widest = 0;
  for (const auto& [label, value] : facts) widest = std::max(widest, base::display_width(label));
  for (const auto& [label, value] : facts)
    text += base::format("  {}{:{}}  {}\n", label, "", widest - base::display_width(label), value);
  const auto queues = std::count_if(process.tracks.begin(), process.tracks.end(), is_queue);
  const auto add = [&](const base::TextTable& table) { text += shown(table, 2); };
  if (process.tracks.size() != static_cast<size_t>(queues)) add(tracks_of(process, summary));
  if (queues != 0) add(queues_of(process, summary));
  for (const TrackSummary& track : process.tracks) {
    if (track.open.empty()) continue;
    text +=
        base::format("  unfinished on {}: {}", track_name(track), track.open_count > track.open.size() ? "… > " : "");
    for (size_t i = 0; i < track.open.size(); ++i) text += (i == 0 ? "" : " > ") + base::printable(track.open[i]);
    text += "\n";
  }
  return text;
}

void write_process(base::JsonWriter& json, const ProcessSummary& process, const Summary& summary) {
  const trace::Origin& origin = process.origin;
  json.begin_object();
  json.field("writer", process.writer.hex());
  json.field("session", origin.session);
  json.field("pid", origin.pid);
  json.field("parent_pid", origin.parent_pid);
  json.field("host", origin.host);
  json.field("executable", origin.executable);
  json.values("command_line", origin.command_line);
  json.field("start_realtime_ns", origin.start_realtime_ns);
  json.field("policy", origin.policy);
  json.field("kymo_version", origin.kymo_version);
  json.object("metadata", [&] {
    for (const auto& [name, value] : origin.metadata) json.field(name, value);
  });
  json.field("ranges", process.ranges);
  json.field("points", process.points);
  json.field("cost_ns", process.cost_ns);
  json.field("blocked_ns", process.blocked_ns);
  json.field("collector_cpu_ns", process.collector_cpu_ns);
  if (process.window) {
    json.begin_object("window");
    json.field("from_monotonic_ns", process.window->from_ns);
    if (process.window->to_ns != 0) json.field("to_monotonic_ns", process.window->to_ns);
    json.end_object();
  }
  json.objects("clocks", process.clocks, [&](const analyze::ClockSummary& clock) {
    json.field("id", clock.id);
    json.field("kind", analyze::clock_kind_text(clock.kind));
    json.field("pairs", clock.pairs);
    json.field("error_ns", clock.error_ns);
    json.field("usable", clock.usable);
  });
  json.objects("tracks", process.tracks, [&](const TrackSummary& track) {
    json.field("id", track.id);
    json.field("name", track_name(track));
    json.values("unfinished", track.open);
    json.field("unfinished_count", track.open_count);
    if (is_queue(track)) {
      json.field("device", track.device_uuid);
      if (!track.device_name.empty()) json.field("device_name", track.device_name);
      json.field("context", track.context);
      json.field("queue", track.queue);
      json.field("clock", track.clock);
    } else {
      json.field("tid", track.tid);
    }
    json.field("ranges", track.ranges);
    json.field("points", track.points);
    json.field("bytes", track.bytes);
    json.field("chunks", track.chunks);
    if (track.last_realtime_ns != 0) {
      json.field("first_ns", track.first_realtime_ns - summary.begin_realtime_ns);
      json.field("last_ns", track.last_realtime_ns - summary.begin_realtime_ns);
    }
    json.field("cost_ns", track.cost_ns);
    json.field("blocked_ns", track.blocked_ns);
    json.field("distortion", track.distortion);
  });
  json.end_object();
}

std::string as_json(const Summary& summary, const Ledger& ledger) {
  return ledger.document(summary.path, [&](base::JsonWriter& json) {
    json.field("file_size", summary.file_size);
    json.field("torn_bytes", summary.torn_bytes);
    json.field("indexed", summary.indexed);
    json.field("begin_realtime_ns", summary.begin_realtime_ns);
    json.field("duration_ns", summary.duration_ns);
    json.field("ranges", summary.ranges);
    json.field("points", summary.points);
    json.field("chunks", summary.chunks);
    json.field("bytes_per_event", summary.bytes_per_event);
    json.begin_array("processes");
    for (const ProcessSummary& process : summary.processes) write_process(json, process, summary);
    json.end_array();
    json.field("lost", summary.lost);
  });
}

std::string as_text(const Summary& summary) {
  std::string text = head(summary);
  for (const ProcessSummary& process : summary.processes) text += describe(process, summary);
  return text;
}

}  // namespace

int info(const Arguments& arguments) {
  std::string path;
  bool json = false;
  bool strict = false;
  options::CommandLine line(
      "info", "kymo info FILE [options]",
      "Shows what a trace contains: its processes and threads, the number of events, the time span,\n"
      "the clock accuracy, the cost of the recording, and what is missing. It does not read the events,\n"
      "so it is fast for a file of any size; with --strict it does, to find damage. Of a capture of device\n"
      "work, shows its kernels and buffers.",
      "kymo info run.kymo\nkymo info 0000-frame.kycap");
  line.argument("FILE", path, "the trace or capture");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  for (const PartProgram& program : other_programs())
    for (const FileKind& kind : program.file_kinds)
      if (path.ends_with(kind.ending) || ::access((path + "/" + kind.content).c_str(), F_OK) == 0)
        become_program(program.file, json ? Arguments{kind.command, path, "--json"} : Arguments{kind.command, path});

  const trace::Reader reader = open_trace(path);
  const Summary summary = analyze::summarise(reader);
  const Ledger ledger(summary, strict ? analyze::all_problems(reader) : summary.problems);
  print(json ? as_json(summary, ledger) : as_text(summary));
  return ledger.finish(strict);
}

}  // namespace kymo::cli
