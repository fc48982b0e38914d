// `kymo recover`: what dead processes left in memory, into the trace they were recording.

#include "analyze/summary.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/units.h"
#include "collect/recording.h"
#include "options/command_line.h"
#include "trace/append_file.h"
#include "trace/reader.h"

namespace kymo::cli {
namespace {

std::string as_json(const std::string& path, const collect::Recovered& recovered, const Ledger& ledger) {
  JsonWriter json;
  json.begin_object();
  json.field("file", path);
  json.field("processes", recovered.processes);
  json.field("events", recovered.events);
  json.field("bytes", recovered.bytes);
  json.field("live_processes", recovered.live_processes);
  ledger.write(json);
  json.end_object();
  return json.text();
}

std::string as_text(const std::string& path, const collect::Recovered& recovered) {
  std::string text = printable(path) + ": ";
  if (recovered.processes == 0) {
    text += "nothing to bring in";
  } else {
    text += base::format("brought in {} ({}) that {} had left in memory", count_of(recovered.events, "event"),
                         bytes_text(recovered.bytes), count_of(recovered.processes, "dead process", "dead processes"));
  }
  if (recovered.live_processes > 0)
    text +=
        base::format("; {} still recording, left alone", count_of(recovered.live_processes, "process", "processes"));
  return text + "\n";
}

std::string as_json(const collect::Cleaned& cleaned) {
  JsonWriter json;
  json.begin_object();
  json.field("removed", cleaned.removed);
  json.field("bytes", cleaned.bytes);
  json.field("live_processes", cleaned.live);
  json.begin_array("kept");
  for (const collect::Cleaned::Kept& kept : cleaned.kept) {
    json.begin_object();
    json.field("pid", kept.pid);
    if (!kept.trace.empty()) json.field("trace", kept.trace);
    json.end_object();
  }
  json.end_array();
  json.begin_array("of_other_versions");
  for (const std::string& path : cleaned.of_other_versions) json.value(path);
  json.end_array();
  json.end_object();
  return json.text();
}

std::string as_text(const collect::Cleaned& cleaned) {
  std::string text = base::format("removed {} ({})\n", count_of(cleaned.removed, "segment"), bytes_text(cleaned.bytes));
  if (cleaned.live > 0)
    text += base::format("{} still recording, left alone\n", count_of(cleaned.live, "process", "processes"));
  for (const collect::Cleaned::Kept& kept : cleaned.kept)
    text += kept.trace.empty() ? base::format("kept what process {} left: its trace is not known\n", kept.pid)
                               : base::format("kept what process {} left: 'kymo recover {}' brings it in\n", kept.pid,
                                              printable(kept.trace));
  for (const std::string& path : cleaned.of_other_versions)
    text +=
        base::format("kept {}, of another version of Kymo: remove it when its program has ended\n", printable(path));
  return text;
}

}  // namespace

int recover(const Arguments& arguments) {
  std::string path;
  bool json = false, clean = false, strict = false;
  options::CommandLine line(
      "recover", "kymo recover FILE [options]\n       kymo recover --clean",
      "Brings what crashed or killed programs had recorded, and what is still in memory, into the trace\n"
      "they were recording. info, stats and export do the same by themselves before they read.",
      "kymo recover run.kymo\nkymo recover --clean");
  line.text(
      "FILE", "", [&](const std::string& text) { path = text; }, "the trace");
  line.flag("--clean", clean, "instead, remove from memory what belongs to traces\nthat are gone");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  if (clean == !path.empty())
    throw options::UsageError("recover", clean ? "--clean takes no FILE" : "which trace? FILE is missing");
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
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
