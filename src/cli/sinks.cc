// `kymo sinks`: which other tools can hear what programs annotate, and why one cannot.

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "kymo/sink.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

const char* reader_of(std::string_view sink) {
  if (sink == "usdt") return "perf, bpftrace, SystemTap, gdb";
  if (sink == "lttng") return "lttng enable-event -u 'kymo:*'";
  if (sink == "trace-marker") return "ftrace, trace-cmd, Perfetto";
  if (sink == "nvtx") return "Nsight Systems, or a tool named by NVTX_INJECTION64_PATH";
  return "";
}

std::string sinks_as_json(const std::vector<SinkReport>& reports) {
  JsonWriter json;
  json.begin_array();
  for (const SinkReport& report : reports) {
    json.begin_object();
    json.field("sink", report.name);
    json.field("on", report.on);
    if (!report.absent.empty()) json.field("absent", report.absent);
    json.end_object();
  }
  json.end_array();
  return json.text();
}

std::string sinks_as_text(const std::vector<SinkReport>& reports) {
  Table table({{"sink"}, {"here"}, {"who reads it, or why not"}});
  for (const SinkReport& report : reports) {
    const char* here = !report.absent.empty() ? "no" : report.on ? "on" : "yes";
    table.add({report.name, here, report.absent.empty() ? reader_of(report.name) : printable(report.absent)});
  }
  return table.text();
}

}  // namespace

int sinks(const Arguments& arguments) {
  bool json = false;
  options::CommandLine line(
      "sinks", "kymo sinks [options]",
      "Lists the other tools that can hear what programs annotate, and says why one cannot here.\n"
      "KYMO_SINKS=usdt,nvtx in a program's environment turns sinks on.",
      "kymo sinks");
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  const auto reports = list_sinks();
  print(json ? sinks_as_json(reports) : sinks_as_text(reports));
  return kDone;
}

}  // namespace kymo::cli
