// `kymo sinks`: lists the other tools that can receive annotations, and why one cannot.

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/terminal.h"
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
  base::JsonWriter json;
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
  base::TextTable table({{"sink"}, {"available"}, {"tools, or why not"}});
  for (const SinkReport& report : reports) {
    const char* here = !report.absent.empty() ? "no" : report.on ? "on" : "yes";
    table.add({report.name, here, report.absent.empty() ? reader_of(report.name) : base::printable(report.absent)});
  }
  return shown(table);
}

}  // namespace

int sinks(const Arguments& arguments) {
  bool json = false;
  options::CommandLine line(
      "sinks", "kymo sinks [options]",
      "Lists the other tools that can receive the annotations of programs, and why one cannot here.\n"
      "Set KYMO_SINKS=usdt,nvtx in a program's environment to turn sinks on.",
      "kymo sinks");
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  const auto reports = list_sinks();
  print(json ? sinks_as_json(reports) : sinks_as_text(reports));
  return kDone;
}

}  // namespace kymo::cli
