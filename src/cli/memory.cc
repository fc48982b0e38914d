// `kymo memory`: shows how much memory was in use, what held it at the peak, and what was never freed.
#include "analyze/memory/export.h"
#include "analyze/summary.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/memory_report.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "options/command_line.h"

namespace kymo::cli {

int memory_command(const Arguments& arguments) {
  using memory::GroupBy;
  MemoryReportOptions options;
  std::string output, device;
  bool json = false, strict = false;
  options::CommandLine line(
      "memory", "kymo memory FILE [options]",
      "Shows how much memory was in use, what held it at the peak, and what was never freed.\n"
      "With -o it writes the profile to a file instead. The file extension of OUT selects the format:\n"
      "  .html               a web page with the timeline and the stacks that held memory\n"
      "  .json, .raw.json    memory timelines in PyTorch's format; also with .gz\n"
      "  .pickle             a snapshot for pytorch.org/memory_viz",
      "kymo record --memory -o run.kymo -- ./train\nkymo memory run.kymo --leaks\n"
      "kymo memory run.kymo -o run.html");
  line.argument("FILE", options.path, "the trace");
  line.choice("--by", options.by, {{"stack", GroupBy::Stack}, {"range", GroupBy::Range}, {"size", GroupBy::Size}},
              "what a row stands for; default: stack");
  line.text(
      "--top", "N", [&](const std::string& text) { options.top = base::parse_count(text); },
      "only the first N rows; default: 10 as text, all as JSON");
  line.flag("--leaks", options.leaks, "show what was never freed, not what was in use at the peak");
  line.value("--device", "NAME", device, "only this memory: heap, cuda:0, …");
  line.value("-o,--output", "OUT", output, "write the profile to this file");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(options.path);
  std::vector<trace::Problem> problems = reader.problems();
  try {
    if (!output.empty()) {
      memory::export_profile(reader, output, {device});
    } else {
      memory::Profile profile = memory::read_profile(reader, {device});
      problems = profile.problems;
      const Ledger ledger(analyze::summarise(reader), problems);
      print(json ? memory_json(profile, options, ledger) : memory_text(profile, options));
    }
  } catch (const InvalidArgument& error) {  // unknown file extension or unknown memory
    throw options::UsageError("memory", error.what());
  }
  const Ledger ledger(analyze::summarise(reader), problems);
  ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
