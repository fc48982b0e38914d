// `kymo report`: one page about a trace, for people in terminals and for programs.

#include "analyze/report/report.h"

#include "analyze/functions/functions.h"
#include "analyze/summary.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/report_output.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

// Reading allocations takes a pass over the points, so only traces that have some are asked.
bool has_allocations(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [class_id, event_class] : writer.classes)
      for (const trace::Field& field : event_class.fields)
        if (field.name == "Bytes" || field.name == "bytes" || field.name == "size") return true;
  return false;
}

}  // namespace

int report_command(const Arguments& arguments) {
  std::string path;
  bool json = false, strict = false;
  options::CommandLine line(
      "report", "kymo report FILE [--json]",
      "Shows on one page where the time went: the iterations, what each nanosecond of them was used for, why devices\n"
      "were idle, the longest operations, memory at the peak, losses, and the three findings that would save the most\n"
      "time, each with the rows that prove it and a command that shows more.\n"
      "Iterations come from kymo::step(), from ranges such as ProfilerStep#3 or step 7, or from the outermost range\n"
      "that repeats. Without any, the whole trace is one window.",
      "kymo report run.kymo\nkymo report trace.json.gz --json");
  line.argument("FILE", path, "the trace; also of another tool (see 'kymo import --help')");
  line.flag("--json", json, "print everything as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  const analyze::Summary summary = analyze::summarise(reader);
  const auto make_report = [&] {
    const ReadProgress progress(reader, "reading " + path);
    return analyze::make_report(reader);
  };
  ReportPage page{path, summary, make_report(), {}, {}};
  const Ledger ledger(summary, page.report.problems);
  if (has_allocations(reader)) {
    const memory::Profile profile = memory::read_profile(reader);
    if (!profile.is_empty()) page.memory = MemoryAtPeak::of(profile);
  }
  page.functions = functions::functions_on_cpu(reader);
  print(json ? report_json(page, ledger) : report_text(page));
  if (!json) ledger.show();
  return strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
