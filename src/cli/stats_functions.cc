#include "cli/stats_functions.h"

#include <algorithm>

#include "analyze/functions/functions.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace kymo::cli {
namespace {

using functions::FunctionRow;
using functions::FunctionTable;
using functions::What;

std::string percent_text(uint64_t part, uint64_t all) {
  return all == 0 ? "" : base::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "20,627 samples: 20.6 s of the 20.8 s of CPU time of 1 thread; off the CPU for 52.4 s, 51.9 s of it because others
// ran"
std::string cpu_summary(const FunctionTable& table, const Ledger& ledger) {
  const std::string of_all = table.cpu_ns == 0 ? "" : base::format("of the {} ", duration_text(table.cpu_ns));
  std::string text = base::format("{}: {} {}of CPU time of {}", count_of(table.samples, "sample"),
                                  duration_text(table.time_ns), of_all, count_of(table.threads, "thread"));
  if (table.off_ns != 0) text += base::format("; off the CPU for {}", duration_text(table.off_ns));
  if (table.preempted_ns != 0) text += base::format(", {} of it because others ran", duration_text(table.preempted_ns));
  text += "\n";
  constexpr double kWhole = 0.95;
  if (static_cast<double>(table.time_ns) >= kWhole * static_cast<double>(table.cpu_ns)) return text;
  const uint64_t missing_ns = table.cpu_ns - table.time_ns;
  text += base::format("{} of CPU time ({}) has no sample: ", duration_text(missing_ns),
                       percent_text(missing_ns, table.cpu_ns));
  const uint64_t lost = ledger.count(trace::LossCause::SamplesLost);
  const bool were_paused = ledger.count(trace::LossCause::SamplingPaused) != 0;
  // A thread has its first sample only when it has used the CPU for as long as the time between two samples.
  if (lost != 0 && lost >= missing_ns / std::max<uint64_t>(table.period_ns, 1) / 2)
    text += base::format("{} lost, because there was no space for them; record at a lower rate (--sample)\n",
                         count_of(lost, "sample was", "samples were"));
  else if (were_paused)
    text += "the kernel paused sampling, because it took too much time; record at a lower rate (--sample)\n";
  else
    text += base::format("mostly of threads that used the CPU for less than {}\n", duration_text(table.period_ns));
  return text;
}

// "1,204 waits: 5.20 s of the 6.01 s off the CPU of 3 threads, 1.10 s of it because others ran"
std::string waits_summary(const FunctionTable& table) {
  std::string text =
      base::format("{}: {} of the {} off the CPU of {}", count_of(table.samples, "wait"), duration_text(table.time_ns),
                   duration_text(table.off_ns), count_of(table.threads, "thread"));
  if (table.preempted_ns != 0) text += base::format(", {} of it because others ran", duration_text(table.preempted_ns));
  return text + "\n";
}

std::string summary_of(const FunctionTable& table, const Ledger& ledger) {
  std::string text = table.what == What::Cpu     ? cpu_summary(table, ledger)
                     : table.what == What::Waits ? waits_summary(table)
                                                 : base::format("{}, by {}\n", count_of(table.time_ns, "page fault"),
                                                                count_of(table.samples, "sample"));
  if (table.incomplete != 0)
    text += base::format("{} ({}): the functions that called them are not known\n",
                         count_of(table.incomplete, "incomplete stack"), percent_text(table.incomplete, table.samples));
  constexpr size_t kMostFiles = 3;
  for (size_t i = 0; i < std::min(kMostFiles, table.missing_files.size()); ++i)
    text += base::format(
        "functions of {} have no names: the file was removed or replaced, or is on another "
        "machine; each address is a row\n",
        base::printable(table.missing_files[i]));
  if (table.missing_files.size() > kMostFiles)
    text += base::format("so were {}\n", count_of(table.missing_files.size() - kMostFiles, "more file"));
  return text;
}

std::string as_text(const FunctionTable& table, size_t shown_rows, const Ledger& ledger, bool was_recorded) {
  using Align = base::TextTable::Align;
  base::TextTable text({{"self", Align::Right},
                        {"", Align::Right},
                        {"total", Align::Right},
                        {"", Align::Right},
                        {table.what == What::Waits ? "waits" : "samples", Align::Right},
                        {"module"},
                        {"function"}});
  const auto amount = [&](uint64_t of) { return table.what == What::PageFaults ? count_text(of) : duration_text(of); };
  for (size_t i = 0; i < shown_rows; ++i) {
    const FunctionRow& row = table.rows[i];
    text.add({amount(row.self_ns), percent_text(row.self_ns, table.time_ns), amount(row.total_ns),
              percent_text(row.total_ns, table.time_ns), count_text(row.self_samples),
              base::printable(file_name(row.module)), base::printable(row.function)});
  }
  std::string all = table.rows.empty() ? std::string(nothing_text(table.what, was_recorded)) + "\n" : shown(text);
  if (shown_rows < table.rows.size())
    all += base::format("({} not shown)\n", count_of(table.rows.size() - shown_rows, "more row"));
  if (!table.rows.empty()) all += "\n" + summary_of(table, ledger);
  return all;
}

std::string as_json(const FunctionTable& table, size_t shown_rows, const std::string& path, const Ledger& ledger) {
  base::JsonWriter json;
  json.begin_object();
  json.field("file", path);
  json.begin_array("functions");
  for (size_t i = 0; i < shown_rows; ++i) {
    const FunctionRow& row = table.rows[i];
    json.begin_object();
    json.field("function", row.function);
    json.field("module", row.module);
    json.field("self_samples", row.self_samples);
    json.field("total_samples", row.total_samples);
    json.field(table.what == What::PageFaults ? "self_faults" : "self_ns", row.self_ns);
    json.field(table.what == What::PageFaults ? "total_faults" : "total_ns", row.total_ns);
    json.end_object();
  }
  json.end_array();
  json.field("rows_not_shown", table.rows.size() - shown_rows);
  json.field("samples", table.samples);
  json.field(table.what == What::PageFaults ? "faults" : "time_ns", table.time_ns);
  json.field("cpu_ns", table.cpu_ns);
  json.field("threads", table.threads);
  json.field("incomplete_stacks", table.incomplete);
  json.field("off_cpu_ns", table.off_ns);
  json.field("preempted_ns", table.preempted_ns);
  json.begin_array("missing_files");
  for (const std::string& file : table.missing_files) json.value(file);
  json.end_array();
  ledger.write(json);
  json.end_object();
  return json.text();
}

}  // namespace

std::string_view nothing_text(What what, bool was_recorded) {
  switch (what) {
    case What::Waits:
      return was_recorded ? "no waits: no thread stopped running while it was recorded"
                          : "no stacks of waits: record them with kymo record --sample-waits";
    case What::PageFaults:
      return was_recorded ? "no stacks of page faults: there were too few for a sample (kymo info has their number)"
                          : "no stacks of page faults: record them with kymo record --sample-faults";
    case What::Cpu:
      break;
  }
  return was_recorded ? "no samples" : "no samples: kymo record takes one in each millisecond of CPU time";
}

int show_functions(const trace::Reader& reader, const FunctionOptions& options) {
  functions::Samples samples;
  FunctionTable table;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    samples = functions::read_samples(reader, options.what);
    table = functions::count_functions(samples, options.range);
  }
  if (options.by_total) std::ranges::stable_sort(table.rows, std::ranges::greater(), &FunctionRow::total_ns);
  const size_t shown_rows = options.top == 0 ? table.rows.size() : std::min(options.top, table.rows.size());
  const Ledger ledger(analyze::summarise(reader), samples.problems);
  print(options.json ? as_json(table, shown_rows, options.path, ledger)
                     : as_text(table, shown_rows, ledger, functions::was_requested(reader, options.what)));
  ledger.show();
  return options.strict && !ledger.empty() ? kLossOrDamage : kDone;
}

}  // namespace kymo::cli
