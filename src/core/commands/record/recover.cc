// `kymo recover`: adds what dead processes left in memory to the trace they were recording.

#include "collect/recover.h"

#include <map>
#include <vector>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/record/commands.h"
#include "options/command_line.h"
#include "trace/append_file.h"
#include "trace/reader.h"

namespace kymo::cli {
namespace {

std::string as_json(const std::string& path, const collect::Recovered& recovered, const Ledger& ledger) {
  return ledger.document(path, [&](base::JsonWriter& json) {
    json.field("processes", recovered.processes);
    json.field("events", recovered.events);
    json.field("bytes", recovered.bytes);
    json.field("live_processes", recovered.live_processes);
  });
}

std::string as_text(const std::string& path, const collect::Recovered& recovered) {
  std::string text = base::printable(path) + ": ";
  if (recovered.processes == 0) {
    text += "nothing to recover";
  } else {
    text += base::format("recovered {} ({}) that {} left in memory", count_of(recovered.events, "event"),
                         bytes_text(recovered.bytes), count_of(recovered.processes, "dead process", "dead processes"));
  }
  if (recovered.live_processes > 0)
    text += base::format("; {} still recording, skipped", count_of(recovered.live_processes, "process", "processes"));
  return text + "\n";
}

std::string as_json(const collect::Cleaned& cleaned) {
  base::JsonWriter json;
  json.begin_object();
  json.field("removed", cleaned.removed);
  json.field("bytes", cleaned.bytes);
  json.field("live_processes", cleaned.live);
  json.objects("kept", cleaned.kept, [&](const collect::Cleaned::Kept& kept) {
    json.field("pid", kept.pid);
    if (!kept.trace.empty()) json.field("trace", kept.trace);
  });
  json.objects("kept_flights", cleaned.kept_flights, [&](const collect::Cleaned::KeptFlight& kept) {
    json.field("file", kept.file);
    if (!kept.trace.empty()) json.field("trace", kept.trace);
  });
  json.values("of_other_versions", cleaned.of_other_versions);
  json.end_object();
  return json.text();
}

// One line, with all files counted and the first one named.
std::string kept_files(const std::vector<std::string>& files, const char* one, const char* several) {
  if (files.empty()) return {};
  if (files.size() == 1) return base::format("kept {} {}\n", base::printable(files[0]), one);
  return base::format("kept {} and {} {}\n", base::printable(files[0]), count_of(files.size() - 1, "other file"),
                      several);
}

std::string as_text(const collect::Cleaned& cleaned) {
  std::string text = base::format("removed {} ({})\n", count_of(cleaned.removed, "file"), bytes_text(cleaned.bytes));
  if (cleaned.live > 0)
    text += base::format("{} still recording, skipped\n", count_of(cleaned.live, "process", "processes"));
  std::map<std::string, std::vector<uint64_t>> by_trace;
  for (const collect::Cleaned::Kept& kept : cleaned.kept) by_trace[kept.trace].push_back(kept.pid);
  for (const auto& [trace, pids] : by_trace) {
    const std::string whose =
        pids.size() == 1 ? base::format("process {}", pids[0]) : count_of(pids.size(), "process", "processes");
    text += trace.empty()
                ? base::format("kept the memory of {}: the trace is not known\n", whose)
                : base::format("kept the memory of {}: 'kymo recover {}' recovers it\n", whose, base::printable(trace));
  }
  std::vector<std::string> unknown;
  for (const collect::Cleaned::KeptFlight& kept : cleaned.kept_flights) {
    if (kept.trace.empty())
      unknown.push_back(kept.file);
    else
      text += base::format("kept the flight recorder of {}: 'kymo recover {}' recovers it\n",
                           base::printable(kept.trace), base::printable(kept.trace));
  }
  text += kept_files(unknown, "whose trace is not known: remove it if you do not need it",
                     "whose traces are not known: remove them if you do not need them");
  text += kept_files(cleaned.of_other_versions, "of another version of Kymo: remove it when its program has ended",
                     "of other versions of Kymo: remove them when their programs have ended");
  return text;
}

}  // namespace

int recover(const Arguments& arguments) {
  std::string path;
  bool json = false, clean = false, strict = false;
  options::CommandLine line(
      "recover", "kymo recover FILE [options]\n       kymo recover --clean",
      "Adds the events that crashed or killed programs left in memory to the trace they were recording.\n"
      "The commands info, stats, memory, export and cut do the same automatically before they read a trace.",
      "kymo recover run.kymo\nkymo recover --clean");
  line.text(
      "FILE", "", [&](const std::string& text) { path = text; }, "the trace");
  line.flag("--clean", clean, "instead, remove from memory what belongs to traces\nthat no longer exist");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  if (!clean && path.empty()) throw options::UsageError("recover", "no FILE given. Usage: kymo recover FILE [options]");
  if (clean && !path.empty())
    throw options::UsageError("recover", base::format("--clean takes no FILE, but has '{}'; give one of them", path));
  if (clean) {
    const collect::Cleaned cleaned = collect::clean_segments();
    print(json ? as_json(cleaned) : as_text(cleaned));
    return kDone;
  }

  const collect::Recovered recovered = collect::recover(path);
  trace::Reader reader(path);
  reader.set_being_written(recovered.live_processes > 0 || trace::is_being_written(path));
  const Ledger ledger(analyze::summarise(reader));
  print(json ? as_json(path, recovered, ledger) : as_text(path, recovered));
  return ledger.finish(strict);
}

}  // namespace kymo::cli
