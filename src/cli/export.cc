// `kymo export`: converts a trace to another tool's format. The file extension of the output selects the format.
#include "convert/formats/export.h"

#include "analyze/summary.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/trace_file.h"
#include "options/command_line.h"

namespace kymo::cli {

int export_command(const Arguments& arguments) {
  std::string path;
  std::string output;
  bool strict = false;
  options::CommandLine line(
      "export", "kymo export FILE -o OUT [options]",
      "Converts a trace. The file extension of OUT selects the format:\n"
      "  .json                      Chrome's format, for ui.perfetto.dev, chrome://tracing, speedscope.app\n"
      "  .pftrace, .perfetto-trace  Perfetto's format, for ui.perfetto.dev: smaller, and loads faster\n"
      "  .csv                       one line for each event\n"
      "With .gz after it (run.json.gz), the file is compressed.",
      "kymo export run.kymo -o run.json.gz");
  line.argument("FILE", path, "the trace");
  line.required_value("-o,--output", "OUT", output, "the file to write");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  std::vector<trace::Problem> problems;
  try {
    const ReadProgress progress(reader, "exporting " + path);
    problems = convert::export_trace(reader, output);
  } catch (const InvalidArgument& error) {  // unknown file extension
    throw options::UsageError("export", error.what());
  }
  const Ledger ledger(analyze::summarise(reader), problems);
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
