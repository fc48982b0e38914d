#include "commands/ondemand/doctor_machine.h"

#include <functional>

#include "base/text.h"
#include "cli/programs.h"
#include "cli/run.h"
#include "commands/record/libraries.h"
#include "kymo/error.h"
#include "kymo/sink.h"
#include "query/duckdb.h"
#include "sample/perf_events.h"

namespace kymo::cli {
namespace {

using wire::Finding;
using wire::Verdict;

// Why `use` throws that something is not available; empty if it does not.
std::string problem(const std::function<void()>& use) {
  try {
    use();
  } catch (const NotAvailable& error) {
    return error.what();
  }
  return {};
}

Finding examine_sampling() {
  sample::PerfEvents::Unseen unseen;
  const std::string refused = problem([&] {
    unseen =
        sample::PerfEvents::for_next_program({1000, sample::kDefaultStacks, sample::Waits::Some, false, true}).unseen();
  });
  if (refused.empty() && unseen.what.empty()) return {"sampling", Verdict::Good, "the kernel samples programs", {}};
  if (refused.empty())
    return {"sampling", Verdict::Doubtful, "the kernel samples programs, without: " + unseen.what, unseen.why};
  const std::string missing = problem([] { find_kymo_library("libkymo_sample.so"); });
  if (!missing.empty())
    return {"sampling", Verdict::Bad, base::format("programs cannot be sampled: {}", refused), missing};
  return {"sampling", Verdict::Doubtful, "programs are sampled by timers inside them, because the kernel refuses",
          refused};
}

Finding examine_symbols() {
#if KYMO_HAVE_DW
  return {"symbols", Verdict::Good, "functions have files and lines, if the program has debug information", {}};
#else
  return {"symbols", Verdict::Doubtful, "functions have no files and lines: Kymo was built without libdw",
          "install libdw-dev and build Kymo again"};
#endif
}

Finding examine_use(const char* name, const char* what, const std::string& missing) {
  if (missing.empty()) return {name, Verdict::Good, what, {}};
  return {name, Verdict::Doubtful, base::format("not available: {}", what), missing};
}

const char* readers_of(std::string_view sink) {
  if (sink == "usdt") return "perf, bpftrace, SystemTap, gdb";
  if (sink == "lttng") return "lttng enable-event -u 'kymo:*'";
  if (sink == "trace-marker") return "ftrace, trace-cmd, Perfetto";
  if (sink == "nvtx") return "Nsight Systems, or a tool named by NVTX_INJECTION64_PATH";
  return "other tools";
}

Finding examine_sink(const SinkReport& sink) {
  if (!sink.absent.empty())
    return {"sink " + sink.name, Verdict::Doubtful, base::format("annotations cannot go to {}", readers_of(sink.name)),
            sink.absent};
  return {"sink " + sink.name,
          Verdict::Good,
          base::format("annotations {} {}{}", sink.on ? "go to" : "can go to", readers_of(sink.name),
                       sink.on ? "" : base::format(" (KYMO_SINKS={})", sink.name)),
          {}};
}

// What a program beside `kymo` says: lines of "good|doubtful", name, text and remedy, separated by tabs.
Findings examine_program(const PartProgram& program) {
  Findings findings;
  ProgramOutput said;
  const std::string missing = problem([&] {
    program_path(program.file);
    if (program.checks != nullptr) said = run_beside(program.file, {program.checks});
  });
  if (!missing.empty()) {
    std::string commands;
    for (const Command& command : program.commands)
      commands += base::format("{}kymo {}", commands.empty() ? "" : ", ", command.name);
    return {{program.file, Verdict::Doubtful, base::format("not available: {}", commands), missing}};
  }
  for (const std::string& line : base::split(said.output, '\n')) {
    const auto fields = base::split(line, '\t');
    if (fields.size() == 4)
      findings.push_back({fields[1], fields[0] == "good" ? Verdict::Good : Verdict::Doubtful, fields[2], fields[3]});
  }
  return findings;
}

}  // namespace

Findings examine_machine() {
  Findings findings = {examine_sampling(), examine_symbols()};
  findings.push_back(examine_use("heap", "kymo record --memory records the heap of any program",
                                 problem([] { find_kymo_library("libkymo_malloc.so"); })));
  findings.push_back(examine_use("python", "kymo record --python records the functions of Python programs",
                                 problem([] { python_environment("functions"); })));
  findings.push_back(examine_use("duckdb", "kymo query and Parquet files", query::duckdb_problem()));
  for (const PartProgram& program : other_programs())
    for (Finding& finding : examine_program(program)) findings.push_back(std::move(finding));
  for (const SinkReport& sink : list_sinks()) findings.push_back(examine_sink(sink));
  return findings;
}

}  // namespace kymo::cli
