// `kymo import`: writes traces of other tools as one Kymo trace.

#include "import/import.h"

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/summary.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/trace_output.h"
#include "cli/units.h"
#include "options/command_line.h"

namespace kymo::cli {

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
  for (const std::string& path : paths) events += import_file(path, to.temporary_path(), output).events;
  to.commit();
  print(base::format("{}: {} from {}\n", base::printable(output), count_of(events, "event"),
                     count_of(paths.size(), "file")));
  const trace::Reader reader(output);
  const Ledger ledger(analyze::summarise(reader), reader.problems());
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
