// `kymo export`: a trace in another tool's format, told by the name of the output.
#include "convert/export.h"

#include "analyze/summary.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/trace_file.h"
#include "options/command_line.h"

namespace kymo::cli {

int export_command(const Arguments& arguments) {
  std::string path;
  std::string output;
  bool strict = false;
  options::CommandLine line(
      "export", "kymo export FILE -o OUT [options]",
      "Writes a trace in the format that the end of OUT's name tells:\n"
      "  .json, .json.gz            Chrome's, for ui.perfetto.dev, chrome://tracing, speedscope.app\n"
      "  .pftrace, .perfetto-trace  Perfetto's own, for ui.perfetto.dev: smaller, and loads faster\n"
      "  .csv                       one line for each event",
      "kymo export run.kymo -o run.json.gz");
  line.argument("FILE", path, "the trace");
  line.required_value("-o,--output", "OUT", output, "where to write");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  try {
    convert::export_trace(reader, output);
  } catch (const InvalidArgument& error) {  // a name of no format
    throw options::UsageError("export", error.what());
  }
  const Ledger ledger(analyze::summarise(reader));
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
