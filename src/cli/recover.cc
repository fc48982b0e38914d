// `kymo recover`: what dead processes left in memory, into the trace they were recording.

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/units.h"
#include "collect/recording.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

std::string as_json(const std::string& path, const collect::Recovered& recovered) {
  JsonWriter json;
  json.begin_object();
  json.field("file", path);
  json.field("processes", recovered.processes);
  json.field("events", recovered.events);
  json.field("bytes", recovered.bytes);
  json.field("live_processes", recovered.live_processes);
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

}  // namespace

int recover(const Arguments& arguments) {
  std::string path;
  bool json = false;
  options::CommandLine line(
      "recover", "kymo recover FILE [options]",
      "Brings what crashed or killed programs had recorded, and what is still in memory, into the trace\n"
      "they were recording. info, stats and export do the same by themselves before they read.",
      "kymo recover run.kymo");
  line.argument("FILE", path, "the trace");
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  const collect::Recovered recovered = collect::recover(path);
  print(json ? as_json(path, recovered) : as_text(path, recovered));
  return kDone;
}

}  // namespace kymo::cli
