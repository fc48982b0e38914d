// `kymo export`: converts a trace to another tool's format. The file extension of the output selects the format.
#include "convert/formats/export.h"

#include "analyze/summary.h"
#include "base/text.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/trace_file.h"
#include "commands/convert/commands.h"
#include "commands/read/query.h"
#include "convert/export_stream.h"
#include "options/command_line.h"
#include "query/session.h"

namespace kymo::cli {
namespace {

constexpr std::string_view kParquet = ".parquet";

int export_parquet(const std::string& path, const std::string& table, const std::string& output, bool strict) {
  convert::refuse_trace(output);
  query::Session session({.files = {path}, .open = open_trace});
  try {
    session.write_parquet(table, output);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("export", error.what());
  }
  return show_ledgers(session) && strict ? int{kIncomplete} : int{kDone};
}

}  // namespace

int export_command(const Arguments& arguments) {
  std::string path;
  std::string output;
  std::string table;
  bool strict = false;
  options::CommandLine line(
      "export", "kymo export FILE -o OUT [options]",
      "Converts a trace. The file extension of OUT selects the format:\n"
      "  .json                      Chrome's format, for ui.perfetto.dev, chrome://tracing, speedscope.app\n"
      "  .pftrace, .perfetto-trace  Perfetto's format, for ui.perfetto.dev: smaller, and loads faster\n"
      "  .csv                       one line for each event\n"
      "  .parquet                   a table of kymo query, for data frames and databases; needs DuckDB\n"
      "With .gz after it (run.json.gz), the file is compressed, but not .parquet, which always is.",
      "kymo export run.kymo -o run.json.gz\nkymo export run.kymo -o counters.parquet --table counters");
  line.argument("FILE", path, "the trace");
  line.required_value("-o,--output", "OUT", output, "the file to write");
  line.value("--table", "NAME", table, "with .parquet: the table to write, see kymo query --schema;\ndefault: ranges");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  refuse_input(output, {path});
  if (output.size() > kParquet.size() && output.ends_with(kParquet))
    return export_parquet(path, table.empty() ? "ranges" : table, output, strict);
  if (!table.empty()) throw options::UsageError("export", "--table needs an output file that ends in .parquet");

  const trace::Reader reader = open_trace(path);
  std::vector<trace::Problem> problems;
  try {
    const ReadProgress progress(reader, "exporting " + path);
    problems = convert::export_trace(reader, output);
  } catch (const InvalidArgument& error) {  // unknown file extension
    throw options::UsageError("export", base::format("{}; a table may end in .parquet", error.what()));
  }
  const Ledger ledger(analyze::summarise(reader), problems);
  return ledger.finish(strict);
}

}  // namespace kymo::cli
