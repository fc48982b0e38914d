// `kymo export`: a trace in another tool's format, told by the name of the output.
#include "convert/export.h"

#include <fmt/format.h>

#include "analyze/summary.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/trace_file.h"

namespace kymo::cli {

int export_command(const Arguments& arguments) {
  std::string path;
  std::string output;
  bool strict = false;
  CommandLine line("export", "kymo export FILE -o OUT [options]",
                   "Writes a trace in the format that the end of OUT's name tells:\n"
                   "  .json, .json.gz            Chrome's, for ui.perfetto.dev, chrome://tracing, speedscope.app\n"
                   "  .pftrace, .perfetto-trace  Perfetto's own, for ui.perfetto.dev: smaller, and loads faster\n"
                   "  .csv                       one line for each event",
                   "kymo export run.kymo -o run.json.gz");
  line.add_option("FILE", path, "the trace")->required();
  line.add_option("-o,--output", output, "where to write")->required()->type_name("OUT");
  line.add_flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  try {
    convert::export_trace(reader, output);
  } catch (const InvalidArgument& error) {  // a name of no format
    throw UsageError("export", error.what());
  }
  const Ledger ledger(analyze::summarise(reader));
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
