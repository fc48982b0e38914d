// `kymo import`: writes traces of other tools as one Kymo trace.

#include "import/import.h"

#include <signal.h>
#include <sys/prctl.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyze/summary.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/import/program.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

kymo::import::Imported import_with_bar(const std::string& path, const std::string& output, const std::string& name,
                                       bool range_values) {
  std::error_code ignored;
  const uintmax_t size = std::filesystem::file_size(path, ignored);
  ProgressBar bar(ignored ? 0 : size, "importing " + path);
  const auto on_read = [&](uint64_t bytes) { bar.add(bytes); };
  return import::import_trace(path, output, {.on_read = on_read, .range_values = range_values, .output_name = name});
}

}  // namespace

int probe_for_kymo(const Arguments& arguments) {
  return arguments.size() == 1 && import::format_of(arguments[0]) ? kDone : kFailed;
}

std::optional<Imported> import_here(const ImportRequest& request) {
  if (!import::format_of(request.path)) return std::nullopt;
  const auto imported = import_with_bar(request.path, request.output, request.output_name, request.range_values);
  return Imported{imported.events, imported.lost};
}

int read_for_kymo(const Arguments& arguments) {
  if (arguments.size() != 4) throw options::UsageError("import", "'read' is for the programs of Kymo");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the reader that waits for the result may be killed
  try {
    const auto imported = import_here({arguments[0], arguments[1], arguments[2], arguments[3] == "values"});
    print(imported ? base::format("ok {} {}", imported->events, imported->lost) : "unknown");
  } catch (const Error& error) {
    print(base::format("error {}", error.what()));
  }
  return kDone;
}

int import_command(const Arguments& arguments) {
  std::vector<std::string> paths;
  std::string output;
  bool strict = false;
  options::CommandLine line(
      "import", "kymo import FILE... -o OUT",
      "Writes traces of other tools as a Kymo trace:\n"
      "  .json, .json.gz    Chrome and Kineto JSON, for example of PyTorch's profiler\n"
      "  .pftrace           Perfetto; also with gzip\n"
      "  .sqlite            Nsight Systems: nsys export --type sqlite\n"
      "  .pickle            memory snapshots of PyTorch\n"
      "  .xplane.pb         profiles of JAX and TensorFlow\n"
      "The content of a file counts, not its name.\n"
      "Several files become one trace, with their processes side by side.\n"
      "Every command that takes a trace also takes these files. Import a file that is used more than once: reading a\n"
      "Kymo trace is faster.",
      "kymo import trace.json.gz -o trace.kymo\nkymo import rank0.json rank1.json -o both.kymo");
  line.arguments("FILE", paths, "the traces to import");
  line.required_value("-o,--output", "OUT", output, "the trace to write");
  line.flag("--strict", strict, "exit with 3 when anything could not be imported");
  if (!line.read(arguments)) return kDone;

  TraceOutput to(output, paths);
  uint64_t events = 0;
  for (const std::string& path : paths) events += import_with_bar(path, to.temporary_path(), output, true).events;
  to.commit();
  print(base::format("{}: {} from {}\n", base::printable(output), count_of(events, "event"),
                     count_of(paths.size(), "file")));
  const trace::Reader reader(output);
  const Ledger ledger(analyze::summarise(reader), reader.problems());
  return ledger.finish(strict);
}

}  // namespace kymo::cli
