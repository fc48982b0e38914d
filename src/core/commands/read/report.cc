#include "commands/read/report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analyze/functions/causes.h"
#include "analyze/functions/functions.h"
#include "analyze/functions/locks.h"
#include "analyze/functions/samples.h"
#include "analyze/report/report.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/stats.h"
#include "options/command_line.h"
#include "symbols/short_name.h"
#include "trace/model.h"

namespace kymo::cli {
namespace {

using analyze::Iterations;

constexpr size_t kRows = 8, kMostFindings = 3;
constexpr size_t kWidestInReport = 100, kWidestSentence = 240;  // --json has whole names

std::string short_name(std::string_view name) { return base::shorten_middle(base::printable(name), kWidestInReport); }

// A sentence that may contain a name.
std::string sentence(std::string_view text) { return base::shorten_middle(base::printable(text), kWidestSentence); }

std::string heading(std::string_view text) { return "\n" + coloured(text, Colour::Bold, Stream::Output) + "\n"; }

// A line below a table of the first rows: how many more there are, and their time.
template <typename Row>
std::string more_text(const std::vector<Row>& rows, size_t shown, uint64_t Row::*time) {
  if (rows.size() <= shown) return "";
  uint64_t rest = 0;
  for (size_t i = shown; i < rows.size(); ++i) rest += rows[i].*time;
  return base::format("  {} in {} (--json has all)\n", duration_text(rest),
                      count_of(rows.size() - shown, "more name", "more names"));
}

uint64_t since(int64_t from, int64_t to) { return static_cast<uint64_t>(std::max<int64_t>(to - from, 0)); }

std::string file_text(const ReportPage& page) {
  const uint64_t duration = std::max(page.summary.duration_ns, since(page.report.first_ns, page.report.last_ns));
  std::string text = base::format("{}: {}, {}", base::printable(page.path), count_of(page.summary.events(), "event"),
                                  duration_text(duration));
  // A process has several writers: one for its annotations, one for the samples of each program that it ran.
  struct Process {
    uint64_t pid, events;
    std::string program;
  };
  std::map<std::pair<std::string, uint64_t>, Process> by_id;
  for (const analyze::ProcessSummary& process : page.summary.processes) {
    const std::string program = trace::program_name(process.origin);
    const uint64_t events = process.ranges + process.points;
    if (events == 0 || process.origin.pid == 0 || process.origin.executable.empty()) continue;
    Process& known = by_id[{process.origin.host, process.origin.pid}];
    if (events > known.events) known = {process.origin.pid, events, program};
  }
  std::vector<Process> processes;
  for (auto& [id, process] : by_id) processes.push_back(std::move(process));
  std::ranges::stable_sort(processes, std::greater(), &Process::events);
  std::string names;
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < std::min(kShown, processes.size()); ++i)
    names += base::format("{}{} ({})", i == 0 ? "" : ", ", base::printable(processes[i].program), processes[i].pid);
  if (processes.size() > kShown) names += base::format(" and {} more", count_text(processes.size() - kShown));
  return text + (names.empty() ? "" : ", of " + names) + "\n";
}

std::string iterations_text(const analyze::Report& report) {
  const Iterations& iterations = report.iterations;
  if (iterations.source == Iterations::Source::WholeTrace)
    return "no iterations found: the whole trace is one window (call kymo::step() once per iteration)\n";
  const size_t count = iterations.list.size();
  const std::string of = iterations.source == Iterations::Source::StepMarks ? std::string("kymo::step()")
                         : iterations.source == Iterations::Source::OptimizerSteps
                             ? base::format("the loop around \"{}\"", short_name(iterations.name))
                             : base::format("\"{}\"", short_name(iterations.name));
  std::string text = base::format(
      "{} of {} on {}: median {}, {} to {}; the longest is number {}, at +{}\n", count_of(count, "iteration"), of,
      base::printable(report.main_thread), duration_text(report.median_ns), duration_text(report.shortest_ns),
      duration_text(report.longest_ns), report.longest_iteration,
      duration_text(since(report.first_ns, iterations.list[report.longest_iteration].begin)));
  const uint64_t all = since(report.first_ns, report.last_ns);
  if (2 * report.window_ns < all)
    text +=
        base::format("they are {} of the trace; the rest is not in this report\n", percent_text(report.window_ns, all));
  return text;
}

std::string parts_text(const analyze::Report& report) {
  if (report.window_ns == 0) return "";
  const bool is_window = !report.is_of_iterations();
  const uint64_t count = is_window ? 1 : std::max<size_t>(report.iterations.list.size(), 1);
  std::string text =
      heading(base::format("Where the time {}went{}", is_window ? "" : "of an iteration ",
                           report.main_device.empty() ? base::format(" ({}{})", base::printable(report.main_thread),
                                                                     report.is_by_state ? "" : ", self time")
                                                      : base::format(" ({})", base::printable(report.main_device))));
  base::TextTable table({"time", "share"}, {{"part"}});
  uint64_t sum = 0;
  for (const analyze::ReportPart& part : report.parts) {
    table.add({duration_text(part.ns / count), percent_text(part.ns, report.window_ns), base::printable(part.name)});
    sum += part.ns;
  }
  table.add({duration_text(sum / count), percent_text(sum, report.window_ns),
             is_window ? "all" : base::format("an iteration, on average of {}", count)});
  return text + shown(table, 2);
}

std::string threads_text(const analyze::Report& report) {
  if (report.threads.empty() || (report.is_by_state && report.threads.size() == 1)) return "";
  base::TextTable table({"life", "runs", "waits", "ready", "unknown", "tid"}, {{"thread"}});
  const auto add = [&](const analyze::ThreadStates& one, uint64_t life, const std::string& tid,
                       const std::string& name) {
    table.add({duration_text(life), percent_text(one.running_ns, life), percent_text(one.waiting_ns, life),
               percent_text(one.preempted_ns, life), one.unknown_ns == 0 ? "" : percent_text(one.unknown_ns, life), tid,
               name});
  };
  std::vector<const analyze::ThreadStates*> longest;
  analyze::ThreadStates sum;
  uint64_t lives = 0;
  for (const analyze::ThreadStates& one : report.threads) {
    longest.push_back(&one);
    lives += one.life_ns();
    sum.running_ns += one.running_ns;
    sum.waiting_ns += one.waiting_ns;
    sum.preempted_ns += one.preempted_ns;
    sum.unknown_ns += one.unknown_ns;
  }
  std::ranges::stable_sort(longest, std::ranges::greater(), &analyze::ThreadStates::life_ns);
  for (size_t i = 0; i < std::min(kRows, longest.size()); ++i)
    add(*longest[i], longest[i]->life_ns(), std::to_string(longest[i]->tid), short_name(longest[i]->label()));
  if (longest.size() > 1) add(sum, lives, "", base::format("all {} threads together", count_text(longest.size())));
  return heading("What the threads did") + shown(table, 2);
}

std::string devices_text(const analyze::Report& report) {
  if (report.devices.empty()) return "";
  std::string text = heading("Devices");
  base::TextTable table(
      {"busy", "computes", "communicates", "hidden", "copies", "hidden", "queued", "max", "operations"}, {{"device"}});
  for (const analyze::DeviceReport& device : report.devices) {
    const analyze::DeviceTime& time = device.time;
    const auto hidden = [](uint64_t all, uint64_t exposed) { return all == 0 ? "" : percent_text(all - exposed, all); };
    table.add({percent_text(time.window_ns - time.idle_total_ns(), time.window_ns),
               percent_text(time.compute_ns, time.window_ns), percent_text(time.communication_ns, time.window_ns),
               hidden(time.communication_ns, time.exposed_communication_ns),
               percent_text(time.copies_ns, time.window_ns), hidden(time.copies_ns, time.exposed_copies_ns),
               base::format("{:.1f}", time.mean_outstanding), count_text(time.most_outstanding),
               count_text(time.operations), base::printable(device.name)});
  }
  text += shown(table, 2);
  for (const analyze::DeviceReport& device : report.devices) {
    const uint64_t inside = device.time.window_ns - device.time.idle_total_ns(), outside = device.time.busy_outside_ns;
    if (outside > inside)  // a loop that only launches has ended before its work
      text += base::format(
          "  {} is busy for {} outside of the iterations, more than inside: what it does then is not "
          "in this report\n",
          base::printable(device.name), duration_text(outside));
  }
  for (const analyze::DeviceReport& device : report.devices) {
    if (device.during_late.empty() && device.during_late_outside_ns == 0) continue;
    text +=
        base::format("\n  While {} waited for a launch, the launching threads were in\n", base::printable(device.name));
    base::TextTable rows({"self", "count"}, {{"name"}});
    for (size_t i = 0; i < std::min(kRows / 2, device.during_late.size()); ++i) {
      const analyze::HostRow& row = device.during_late[i];
      rows.add({duration_text(row.self_ns), count_text(row.count), base::printable(row.name)});
    }
    if (device.during_late_outside_ns > 0)
      rows.add({duration_text(device.during_late_outside_ns), "", "(outside of any range)"});
    text += shown(rows, 2) + more_text(device.during_late, kRows / 2, &analyze::HostRow::self_ns);
  }
  if (report.device_operations_left_out > 0)
    text += base::format("  {} are not included: there are too many\n",
                         count_of(report.device_operations_left_out, "device operation"));
  return text;
}

std::string operations_text(const analyze::Report& report) {
  std::string text;
  if (!report.devices.empty()) {
    const analyze::DeviceReport& device = report.devices.front();
    text += heading(base::format("Longest operations of {}", base::printable(device.name)));
    base::TextTable table({"total", "share", "count", "longest"}, {{"operation"}});
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(kRows, device.operations.size()); ++i) names.push_back(device.operations[i].name);
    names = symbols::short_names(names);  // kernels are functions of C++
    for (size_t i = 0; i < names.size(); ++i) {
      const analyze::OperationRow& row = device.operations[i];
      table.add({duration_text(row.total_ns), percent_text(row.total_ns, report.window_ns), count_text(row.count),
                 duration_text(row.longest_ns), base::printable(names[i])});
    }
    text += shown(table, 2) + more_text(device.operations, kRows, &analyze::OperationRow::total_ns);
  }
  if (!report.shapes.empty()) {
    text += heading("Longest operations by the shapes of their inputs");
    base::TextTable table({"total", "count"}, {{"operation"}, {"shapes"}});
    for (size_t i = 0; i < std::min(kRows, report.shapes.size()); ++i) {
      const analyze::ShapeRow& row = report.shapes[i];
      table.add({duration_text(row.total_ns), count_text(row.count), short_name(row.name),
                 base::printable(base::shorten_middle(row.shapes, symbols::kShownNameWidth))});
    }
    text += shown(table, 2) + more_text(report.shapes, kRows, &analyze::ShapeRow::total_ns);
  } else if (!report.devices.empty() && !report.host.rows.empty()) {
    text += heading(base::format("Longest on {}", base::printable(report.main_thread)));
    base::TextTable table({"self", "count", "longest"}, {{"name"}});
    for (size_t i = 0; i < std::min(kRows, report.host.rows.size()); ++i) {
      const analyze::HostRow& row = report.host.rows[i];
      table.add({duration_text(row.self_ns), count_text(row.count), duration_text(row.longest_ns),
                 base::printable(row.name)});
    }
    text += shown(table, 2) + more_text(report.host.rows, kRows, &analyze::HostRow::self_ns);
  }
  return text;
}

// "power [W]" and 612.4 are "power 612 W".
std::string sensor_text(const analyze::GpuUse& use, std::string_view name) {
  const analyze::GpuSensor* const sensor = use.sensor(name);
  if (sensor == nullptr) return "";
  const size_t unit = name.find('[');
  return base::format("{}{} {}", name.substr(0, unit), count_text(static_cast<uint64_t>(sensor->mean + 0.5)),
                      name.substr(unit + 1, name.size() - unit - 2));
}

std::string gpus_text(const analyze::Report& report) {
  std::string text;
  for (const analyze::GpuUse& use : report.gpus) {
    text += heading(base::format("What {} did while it was busy", base::printable(use.device)));
    base::TextTable table({"total"}, gpu_columns());
    table.add_column({"kernel"});
    const auto add = [&](const analyze::GpuRow& row, const std::string& total, const std::string& name) {
      std::vector<std::string> cells = gpu_cells(use, row);
      cells.insert(cells.begin(), total);
      cells.push_back(base::printable(name));
      table.add(std::move(cells));
    };
    if (!use.all.values.empty()) add(use.all, "", "(all)");
    const size_t rows = std::min(kRows, use.kernels.size());
    std::vector<std::string> names;
    for (size_t i = 0; i < rows; ++i) names.push_back(use.kernels[i].name);
    names = symbols::short_names(names);
    bool has_values = !use.all.values.empty();
    for (size_t i = 0; i < rows; ++i) {
      add(use.kernels[i], duration_text(use.kernels[i].total_ns), names[i]);
      has_values |= !use.kernels[i].values.empty();
    }
    if (has_values)
      text += shown(table, 2) + more_text(use.kernels, rows, &analyze::GpuRow::total_ns);
    else
      text += use.all.samples == 0 ? "  not enough samples: no kernel ran while counters were sampled\n"
                                   : base::format("  not enough samples: kernels ran in {}, for {} of their time\n",
                                                  count_of(use.all.samples, "sample"),
                                                  percent_text(use.all.covered_ns, use.all.sampled_ns));
    std::string sensors;
    for (const char* name : {"power [W]", "SM clock [MHz]", "temperature [C]"})
      if (const std::string one = sensor_text(use, name); !one.empty()) sensors += (sensors.empty() ? "" : ", ") + one;
    const uint64_t count = report.iterations.list.size();
    if (const double joules = use.joules(report.window_ns); joules >= 0 && report.is_of_iterations() && count > 1)
      sensors += base::format(", {:.3g} J an iteration", joules / static_cast<double>(count));
    if (!sensors.empty()) text += "  on average " + sensors + "\n";
    if (std::ranges::find(use.kernels, "graph {}", &analyze::GpuRow::name) != use.kernels.end())
      text += "  graph {}: with KYMO_CUDA_GRAPH_NODES=1, kymo record shows the kernels in it\n";
    if (use.has_others) text += "  other processes used this GPU too: the counters are of all of them\n";
    for (const std::string& verdict : use.verdicts()) text += "  " + verdict + "\n";
    for (size_t i = 0; i < rows; ++i) {
      for (const std::string& verdict : use.verdicts(use.kernels[i]))
        text += base::format("  {}: {}\n", short_name(names[i]), verdict);
      if (const auto line = use.roofline(use.kernels[i]))
        text += base::format(
            "  {}: roofline: {:.3g} operations for each byte, {:.3g} TFLOP/s, {:.3g} TB/s: {:.0f} % of "
            "what {} permit{}\n",
            short_name(names[i]), line->intensity(), line->operations / 1e12, line->bytes / 1e12, 100 * line->share(),
            line->limit(), line->is_limited_by_memory() ? "s" : "");
      if (const analyze::GpuRow& row = use.kernels[i]; row.joules_launches > 0 && !use.has_others)
        text += base::format("  {}: {:.3g} J a launch\n", short_name(names[i]), row.joules / row.joules_launches);
    }
  }
  return text;
}

std::string lines_text(const functions::DeviceLines& all) {
  base::TextTable table({"device", "share", "idle before it", "operations"}, {{"line"}});
  for (size_t i = 0; i < std::min(kRows, all.lines.size()); ++i) {
    const functions::DeviceLine& one = all.lines[i];
    table.add({duration_text(one.device_ns), percent_text(one.device_ns, all.device_ns), duration_text(one.idle_ns),
               count_text(one.operations), short_name(text_of(one.line))});
  }
  std::string text = heading("Lines of the program that launched the work of devices") + shown(table, 2);
  if (all.lines.size() > kRows)
    text += base::format("  {} (kymo stats --by line has all)\n", count_of(all.lines.size() - kRows, "more line"));
  const uint64_t missing_ns = all.device_ns - all.with_line_ns;
  if (missing_ns != 0)
    text += base::format("  {} ({}) of the work is of no line\n", duration_text(missing_ns),
                         percent_text(missing_ns, all.device_ns));
  return text;
}

std::string functions_text(const functions::FunctionTable& all) {
  base::TextTable table({"self", "share", "total"}, {{"module"}, function_column()});
  const std::vector<std::string> names = function_names(all, kRows);
  for (size_t i = 0; i < names.size(); ++i) {
    const functions::FunctionRow& row = all.rows[i];
    table.add({duration_text(row.self_ns), percent_text(row.self_ns, all.time_ns), duration_text(row.total_ns),
               base::printable(row.module.substr(row.module.rfind('/') + 1)), names[i]});
  }
  std::string text = heading("Functions that used the CPU") + shown(table, 2);
  if (all.rows.size() > kRows)
    text +=
        base::format("  {} (kymo stats --by function has all)\n", count_of(all.rows.size() - kRows, "more function"));
  return text;
}

std::string memory_text(const MemoryAtPeak& memory) {
  std::string text = heading("Memory");
  text +=
      base::format("  {} at the peak, {} after the first event; {} at the end (kymo memory shows more)\n",
                   bytes_text(memory.peak_bytes), duration_text(memory.after_begin_ns), bytes_text(memory.end_bytes));
  for (const MemoryAtPeak::Holder& holder : memory.lines.empty() ? memory.holders : memory.lines)
    text += base::format("  {} allocated in {}\n", bytes_text(holder.bytes),
                         holder.where.empty() ? "no range" : short_name(holder.where));
  return text;
}

std::string cost_text(const analyze::Summary& summary) {
  uint64_t cost = 0, blocked = 0;
  for (const analyze::ProcessSummary& process : summary.processes)
    cost += process.cost_ns, blocked += process.blocked_ns;
  if (cost + blocked == 0) return "";
  return base::format(
      "\nRecording cost the program {}{}\n", duration_text(cost),
      blocked == 0 ? "" : base::format(", and {} of waiting for the collector", duration_text(blocked)));
}

std::string saving_text(const analyze::Report& report, const analyze::Finding& finding) {
  if (finding.saves_ns == 0) return "the trace does not prove what this would save";
  const size_t count = report.iterations.list.size();
  if (!report.is_of_iterations() || count < 2) return "saves at most " + duration_text(finding.saves_ns);
  return base::format("saves at most {} per iteration, {} in all {}", duration_text(finding.saves_ns / count),
                      duration_text(finding.saves_ns), count);
}

std::string findings_text(const ReportPage& page) {
  const analyze::Report& report = page.report;
  std::string text = heading("Findings");
  if (report.findings.empty()) return text + "  nothing stands out\n";
  size_t number = 0;
  for (const analyze::Finding& finding : report.findings) {
    text += base::format("  {}. {}.\n", ++number, sentence(finding.text));
    if (finding.kind != "unfinished" && finding.ns != 0)
      text += base::format("     {}\n", saving_text(report, finding));
    for (const std::string& row : finding.evidence) text += base::format("       {}\n", sentence(row));
    text += base::format("     more: {}\n", base::printable(command_of(finding, page.path)));
    if (!finding.record.empty()) text += base::format("     record: {}\n", base::printable(finding.record));
  }
  return text;
}

}  // namespace

std::vector<base::TextTable::Column> gpu_columns() {
  return base::TextTable::columns({"active", "warps", "tensor", "memory", "IPC", "samples"});
}

std::vector<std::string> gpu_cells(const analyze::GpuUse& use, const analyze::GpuRow& row) {
  const auto share = [](double value) { return value < 0 ? std::string() : base::format("{:.1f} %", value); };
  const double instructions = use.value(row, analyze::kInstructions);
  return {share(use.value(row, analyze::kActive)),
          share(use.value(row, analyze::kWarps)),
          share(use.value(row, analyze::kTensor)),
          share(use.memory(row)),
          instructions < 0 ? "" : base::format("{:.2f}", instructions),
          row.values.empty() ? "not enough samples" : count_text(row.samples)};
}

void write_gpu_row(base::JsonWriter& json, const analyze::GpuUse& use, const analyze::GpuRow& row) {
  json.field("gpu_samples", row.samples);
  json.begin_object("gpu_counters");
  for (size_t i = 0; i < row.values.size(); ++i) json.field(use.counters[i], row.values[i]);
  json.end_object();
  if (row.joules_launches > 0) json.field("joules_per_launch", row.joules / row.joules_launches);
}

// The functions and lines that allocated most of it, "open_session (cache.cc:9)", largest first.
std::vector<std::pair<std::string, memory::Group>> allocators(memory::Profile& profile,
                                                              memory::Holding memory::Group::*which) {
  constexpr size_t kStacks = 200, kHolders = 3;
  std::map<std::string, memory::Group> sums;
  for (const memory::Group& group : memory::distinct(profile, memory::GroupBy::Stack, which, kStacks)) {
    const memory::Holder holder = memory::describe(profile, group, memory::GroupBy::Stack);
    const std::string name = short_name(symbols::short_name(holder.name));
    memory::Group& sum = sums[holder.where.empty() ? name : name + " (" + base::printable(holder.where) + ")"];
    for (memory::Holding memory::Group::*const one : {&memory::Group::taken, which}) {
      (sum.*one).bytes += (group.*one).bytes;
      (sum.*one).count += (group.*one).count;
    }
  }
  std::vector<std::pair<std::string, memory::Group>> all(sums.begin(), sums.end());
  std::ranges::stable_sort(all, std::ranges::greater(), [&](const auto& one) { return (one.second.*which).bytes; });
  all.resize(std::min(all.size(), kHolders));
  return all;
}

MemoryAtPeak MemoryAtPeak::of(memory::Profile& profile, const memory::OwnCode& own) {
  constexpr size_t kHolders = 3;
  MemoryAtPeak at_peak;
  at_peak.peak_bytes = profile.peak_bytes;
  at_peak.end_bytes = profile.end_bytes;
  at_peak.after_begin_ns = since(profile.begin_ns, profile.peak_ns);
  for (const memory::Group& group : profile.by_range) {
    if (at_peak.holders.size() == kHolders || group.at_peak.bytes == 0) break;
    const bool known = group.key < profile.tables.ranges.size();
    at_peak.holders.push_back({known ? profile.tables.ranges[group.key] : std::string(), group.at_peak.bytes});
  }
  std::map<std::string, uint64_t> lines;
  for (const memory::Group& group : profile.by_stack) {
    if (group.at_peak.bytes == 0) continue;
    const std::vector<symbols::Frame> frames = profile.tables.stacks.frames(static_cast<memory::StackId>(group.key));
    if (const auto line = own.innermost(frames); line != frames.end())
      lines[text_of(functions::OwnLine{line->function, line->file, line->line})] += group.at_peak.bytes;
  }
  for (const auto& [line, bytes] : lines) at_peak.lines.push_back({line, bytes});
  std::ranges::stable_sort(at_peak.lines, std::ranges::greater(), &Holder::bytes);
  at_peak.lines.resize(std::min(kHolders, at_peak.lines.size()));
  const bool has_ranges = std::ranges::any_of(at_peak.holders, [](const Holder& one) { return !one.where.empty(); });
  if (at_peak.lines.empty() && !has_ranges)
    for (const auto& [where, group] : allocators(profile, &memory::Group::at_peak))
      at_peak.lines.push_back({where, group.at_peak.bytes});
  return at_peak;
}

// Comes first: who records memory asks for it.
analyze::Finding growth(memory::Profile& profile) {
  analyze::Finding one;
  one.kind = "growing memory";
  one.text = base::format("Memory grows until the end, to {}", bytes_text(profile.end_bytes));
  for (const auto& [where, group] : allocators(profile, &memory::Group::left)) {
    const auto& [bytes, count] = group.left;
    if (bytes > profile.left.bytes / 2)
      one.text += base::format(": {} of it was allocated in {}", percent_text(bytes, profile.left.bytes), where);
    if (bytes > profile.left.bytes / 100)
      one.evidence.push_back(base::format("{} in {}: {} of {} were not freed", bytes_text(bytes), where,
                                          count_text(count), count_of(group.taken.count, "allocation")));
  }
  one.command = "kymo memory FILE --leaks";
  return one;
}

std::string command_of(const analyze::Finding& finding, const std::string& path) {
  std::string command = finding.command;
  if (const size_t at = command.find("FILE"); at != std::string::npos) command.replace(at, 4, base::shell_word(path));
  return command;
}

std::string report_text(const ReportPage& page) {
  const analyze::Report& report = page.report;
  std::string text = file_text(page);
  if (page.summary.events() == 0 && report.unfinished.empty()) return text + "no events\n";
  text += iterations_text(report) + parts_text(report) + threads_text(report) + devices_text(report);
  if (page.lines) text += lines_text(*page.lines);
  text += operations_text(report) + gpus_text(report);
  if (!report.stalls.empty()) text += heading("Why the warps of kernels wait") + stalls_text(report.stalls);
  if (page.functions) text += functions_text(*page.functions);
  if (page.memory) text += memory_text(*page.memory);
  text += cost_text(page.summary) + findings_text(page);
  if (!report.not_recorded.empty()) text += base::format("\nnot recorded: {}\n", base::printable(report.not_recorded));
  return text;
}

namespace {

using base::JsonWriter;

const char* source_name(analyze::Iterations::Source source) {
  switch (source) {
    case analyze::Iterations::Source::StepMarks:
      return "step";
    case analyze::Iterations::Source::NamedRanges:
      return "named ranges";
    case analyze::Iterations::Source::OptimizerSteps:
      return "optimizer steps";
    case analyze::Iterations::Source::RepeatingRange:
      return "repeating range";
    case analyze::Iterations::Source::WholeTrace:
      return "whole trace";
  }
  return "";
}

void write_host_rows(JsonWriter& json, std::string_view name, const std::vector<analyze::HostRow>& rows) {
  json.objects(name, rows, [&](const analyze::HostRow& row) {
    json.field("name", row.name);
    json.field("category", row.category);
    json.field("self_ns", row.self_ns);
    json.field("total_ns", row.total_ns);
    json.field("count", row.count);
    json.field("longest_ns", row.longest_ns);
  });
}

void write_iterations(JsonWriter& json, const analyze::Report& report) {
  json.begin_object("iterations");
  json.field("source", source_name(report.iterations.source));
  json.field("name", report.iterations.name);
  json.field("thread", report.main_thread);
  json.field("count", report.iterations.list.size());
  json.field("median_ns", report.median_ns);
  json.field("shortest_ns", report.shortest_ns);
  json.field("longest_ns", report.longest_ns);
  json.objects("list", report.iterations.list, [&](const analyze::Interval& one) {
    json.field("start_ns", one.begin - report.first_ns);
    json.field("duration_ns", one.end - one.begin);
  });
  json.end_object();
}

void write_device(JsonWriter& json, const analyze::DeviceReport& device, int64_t first_ns) {
  const analyze::DeviceTime& time = device.time;
  json.field("name", device.name);
  json.field("window_ns", time.window_ns);
  json.field("compute_ns", time.compute_ns);
  json.field("communication_ns", time.communication_ns);
  json.field("exposed_communication_ns", time.exposed_communication_ns);
  json.field("waiting_for_ranks_ns", time.exposed_waiting_ns);
  json.field("copies_ns", time.copies_ns);
  json.field("exposed_copies_ns", time.exposed_copies_ns);
  json.object("idle_ns", [&] {
    for (size_t cause = 0; cause < analyze::kIdleCauses; ++cause)
      json.field(analyze::text_of(static_cast<analyze::IdleCause>(cause)), time.idle_ns[cause]);
  });
  json.begin_object("longest_idle");
  for (size_t cause = 0; cause < analyze::kIdleCauses; ++cause) {
    const analyze::GapSummary& gaps = device.gaps[cause];
    if (gaps.longest_ns == 0) continue;
    json.begin_object(analyze::text_of(static_cast<analyze::IdleCause>(cause)));
    json.field("start_ns", gaps.longest_begin - first_ns);
    json.field("duration_ns", gaps.longest_ns);
    json.end_object();
  }
  json.end_object();
  json.field("profiling_ns", time.profiling_ns);
  json.field("busy_outside_ns", time.busy_outside_ns);
  json.field("operations", time.operations);
  json.field("mean_outstanding", time.mean_outstanding);
  json.field("most_outstanding", time.most_outstanding);
  json.objects("longest", device.operations, [&](const analyze::OperationRow& row) {
    json.field("name", row.name);
    json.field("kind", text_of(row.kind));
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("longest_ns", row.longest_ns);
  });
  write_host_rows(json, "host_during_late_launches", device.during_late);
  json.field("host_during_late_launches_outside_ns", device.during_late_outside_ns);
}

void write_devices(JsonWriter& json, const analyze::Report& report) {
  json.objects("devices", report.devices, [&](const auto& device) { write_device(json, device, report.first_ns); });
}

void write_findings(JsonWriter& json, const ReportPage& page) {
  json.objects("findings", page.report.findings, [&](const analyze::Finding& finding) {
    json.field("kind", finding.kind);
    json.field("text", finding.text);
    json.field("ns", finding.ns);
    json.field("saves_ns", finding.saves_ns);
    json.field("saves_per_iteration_ns",
               page.report.is_of_iterations() ? finding.saves_ns / page.report.iterations.list.size() : 0);
    json.values("evidence", finding.evidence);
    json.field("command", command_of(finding, page.path));
    json.field("record", finding.record);
  });
}

}  // namespace

std::string report_json(const ReportPage& page, const Ledger& ledger) {
  const analyze::Report& report = page.report;
  return ledger.document(page.path, [&](JsonWriter& json) {
    json.field("events", page.summary.events());
    json.field("duration_ns", page.summary.duration_ns);
    json.field("window_ns", report.window_ns);
    write_iterations(json, report);
    json.objects("parts", report.parts, [&](const analyze::ReportPart& part) {
      json.field("name", part.name);
      json.field("ns", part.ns);
    });
    json.objects("threads", report.threads, [&](const analyze::ThreadStates& thread) {
      json.field("program", thread.program);
      json.field("thread", thread.name);
      json.field("pid", thread.pid);
      json.field("tid", thread.tid);
      json.field("life_ns", thread.life_ns());
      json.field("running_ns", thread.running_ns);
      json.field("waiting_ns", thread.waiting_ns);
      json.field("preempted_ns", thread.preempted_ns);
      json.field("unknown_ns", thread.unknown_ns);
    });
    write_devices(json, report);
    json.field("device_operations_left_out", report.device_operations_left_out);
    json.field("not_recorded", report.not_recorded);
    write_host_rows(json, "host", report.host.rows);
    json.field("host_outside_ns", report.host.outside_ns);
    json.field("host_profiling_ns", report.host.profiling_ns);
    json.objects("shapes", report.shapes, [&](const analyze::ShapeRow& row) {
      json.field("name", row.name);
      json.field("shapes", row.shapes);
      json.field("count", row.count);
      json.field("total_ns", row.total_ns);
    });
    json.objects("gpus", report.gpus, [&](const analyze::GpuUse& use) {
      json.field("device", use.device);
      json.field("interval_ns", use.interval_ns);
      json.field("other_processes", use.has_others);
      write_gpu_row(json, use, use.all);
      json.objects("kernels", use.kernels, [&](const analyze::GpuRow& row) {
        json.field("name", row.name);
        json.field("count", row.count);
        json.field("total_ns", row.total_ns);
        write_gpu_row(json, use, row);
        json.values("verdicts", use.verdicts(row));
      });
      json.objects("sensors", use.sensors, [&](const analyze::GpuSensor& sensor) {
        json.field("name", sensor.name);
        json.field("count", sensor.count);
        json.field("mean", sensor.mean);
        json.field("min", sensor.min);
        json.field("max", sensor.max);
      });
      json.values("verdicts", use.verdicts());
    });
    if (!report.stalls.empty()) write_stalls(json, report.stalls);
    if (page.lines) {
      json.objects("lines", page.lines->lines, [&](const functions::DeviceLine& one) {
        json.field("line", text_of(one.line));
        json.field("file", one.line.file);
        json.field("device_ns", one.device_ns);
        json.field("idle_before_ns", one.idle_ns);
        json.field("operations", one.operations);
      });
      json.field("device_ns", page.lines->device_ns);
      json.field("device_with_line_ns", page.lines->with_line_ns);
    }
    if (page.functions) {
      constexpr size_t kMost = 20;  // kymo stats --by function --json has all
      const std::span rows(page.functions->rows);
      json.objects("functions", rows.first(std::min(kMost, rows.size())), [&](const functions::FunctionRow& row) {
        json.field("function", row.function);
        json.field("module", row.module);
        json.field("self_ns", row.self_ns);
        json.field("total_ns", row.total_ns);
      });
    }
    if (page.memory) {
      json.begin_object("memory");
      json.field("peak_bytes", page.memory->peak_bytes);
      json.field("peak_after_ns", page.memory->after_begin_ns);
      json.field("end_bytes", page.memory->end_bytes);
      json.objects("at_peak", page.memory->holders, [&](const MemoryAtPeak::Holder& holder) {
        json.field("range", holder.where);
        json.field("bytes", holder.bytes);
      });
      json.objects("lines_at_peak", page.memory->lines, [&](const MemoryAtPeak::Holder& holder) {
        json.field("line", holder.where);
        json.field("bytes", holder.bytes);
      });
      json.end_object();
    }
    write_findings(json, page);
  });
}

std::string idle_json(const analyze::Report& report) {
  JsonWriter json;
  json.object([&] { write_devices(json, report); });
  return json.text();
}

namespace {

// `kymo report`: one page about a trace, for people in terminals and for programs.

// Reading allocations takes a pass over the points, so only traces that have some are asked.
bool has_allocations(const trace::Reader& reader) {
  for (const auto& [id, writer] : reader.writers())
    for (const auto& [class_id, event_class] : writer.classes)
      for (const trace::Field& field : event_class.fields)
        if (field.name == "Bytes" || field.name == "bytes" || field.name == "size") return true;
  return false;
}

// The lock for which threads wait the longest, and the function in which it is held for most of that time.
void add_lock(const std::vector<functions::WaitedLock>& locks, analyze::SampledFunctions& all) {
  const auto longest = std::ranges::find_if(locks, &functions::WaitedLock::excludes);
  if (longest == locks.end()) return;
  all.lock.kind = longest->kind;
  all.lock.count = longest->count;
  all.lock.ns = longest->total_ns;
  all.lock.longest_ns = longest->longest_ns;
  all.lock.unfinished = longest->unfinished;
  all.lock.longest_thread_ns = longest->longest_thread_ns;
  all.lock.maybe_ns = longest->maybe_ns;
  all.lock.function = symbols::short_name(longest->waiting.front().function);
  std::map<std::string, uint64_t> by_function;
  for (const auto& one : longest->holding)
    if (!one.function.empty()) by_function[one.function] += one.ns;
  const auto most = std::ranges::max_element(by_function, {}, [](const auto& one) { return one.second; });
  if (most == by_function.end()) return;
  all.lock.holder_function = symbols::short_name(most->first);
  all.lock.held_ns = most->second;
  for (const auto& one : longest->holding) {  // the longest first
    if (one.function != most->first) continue;
    if (all.lock.holder.empty())
      all.lock.holder = one.thread;
    else
      ++all.lock.other_holders;
  }
}

// A page has room for a few.
analyze::SampledFunctions sampled_functions(const trace::Reader& reader, functions::Samples& samples) {
  analyze::SampledFunctions all;
  for (const functions::SampledThread& thread : samples.threads) {
    std::map<std::string, uint64_t> outside;  // of ranges, by the function of the program
    for (const functions::SampledStack& one : thread.stacks) {
      all.cpu_by_range[samples.ranges[one.range]] += one.weight;
      if (one.range == 0) outside[functions::own_function(samples.stacks->frames(one.stack))] += one.weight;
    }
    const auto most = std::ranges::max_element(outside, {}, [](const auto& one) { return one.second; });
    if (most != outside.end())
      all.outside[analyze::thread_key(*thread.place->writer, *thread.place->track)] = {symbols::short_name(most->first),
                                                                                       "", most->second};
  }
  for (const functions::OwnFunction& one : functions::own_functions(samples))
    if (all.running.size() < kRows) all.running.push_back({symbols::short_name(one.function), "", one.ns});
  all.lost_cpu_ns = samples.lost_cpu_ns;
  all.unknown_ns = samples.unknown_ns;
  all.has_wait_stacks = functions::was_requested(reader, functions::What::Waits);
  functions::Causes causes = functions::find_causes(reader);
  functions::WaitedLocks locks = functions::read_locks(reader);
  // Python makes its locks of semaphores and conditions, so only stacks say that they are locks.
  for (functions::WaitedLock& one : causes.locks)
    if (!locks.were_recorded || one.kind == functions::kLockOfPython) locks.locks.push_back(std::move(one));
  std::ranges::stable_sort(locks.locks, std::ranges::greater(), &functions::WaitedLock::total_ns);
  add_lock(locks.locks, all);
  all.is_lock_recorded = locks.were_recorded && all.lock.kind != functions::kLockOfPython;
  all.stacked_ns = causes.stacked_ns;
  for (analyze::SampledFunctions::Function& one : causes.waiting) {
    one.name = symbols::short_name(one.name);
    all.waiting.push_back(std::move(one));
  }
  all.limit = std::move(causes.limit);
  all.bursts = std::move(causes.bursts);
  for (std::string* const name : {&all.limit.waiting_function, &all.limit.function, &all.bursts.function})
    *name = symbols::short_name(*name);
  return all;
}

}  // namespace

ReportPage read_report(const trace::Reader& reader, const std::string& path, const analyze::Summary& summary,
                       const memory::OwnCode& own) {
  ReportPage page{path, summary, {}, {}, {}, {}};
  if (functions::has_samples(reader)) {
    functions::Samples samples = functions::read_samples(reader);
    if (samples.samples != 0) page.functions = functions::count_functions(samples);
    const analyze::SampledFunctions functions = sampled_functions(reader, samples);
    page.report = analyze::make_report(reader, page.functions || functions.has_wait_stacks ? &functions : nullptr);
  } else {
    page.report = analyze::make_report(reader);
  }
  if (has_allocations(reader)) {
    memory::Profile profile = memory::read_profile(reader);
    if (!profile.is_empty()) page.memory = MemoryAtPeak::of(profile, own);
    if (memory::keeps_growing(reader, profile)) {
      std::vector<analyze::Finding>& findings = page.report.findings;
      findings.insert(findings.begin(), growth(profile));
      findings.resize(std::min(findings.size(), kMostFindings));
    }
  }
  page.lines = functions::device_lines(reader, own);
  return page;
}

int report_command(const Arguments& arguments) {
  std::string path;
  bool json = false, strict = false;
  options::CommandLine line(
      "report", "kymo report FILE [--json]",
      "Shows on one page where the time went: the iterations, what each nanosecond of them was used for, why devices\n"
      "were idle, the longest operations, memory at the peak, losses, and at most three findings: ranges that have "
      "not\n"
      "ended, then what would save the most time. Each has the rows that prove it, what it would save at most, a\n"
      "command that shows more, and what to record if the trace does not say enough.\n"
      "Iterations come from kymo::step(), from ranges such as ProfilerStep#3 or step 7, or from the outermost range\n"
      "that repeats. Without any, the whole trace is one window.",
      "kymo report run.kymo\nkymo report trace.json.gz --json");
  line.argument("FILE", path, "the trace; also of another tool (see 'kymo import --help')");
  std::vector<std::string> own;
  line.values("--own", "FOLDER", own,
              "the folder of your own Python code, to which device\nwork belongs; default: all but installed packages");
  line.flag("--json", json, "print everything as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  const analyze::Summary summary = analyze::summarise(reader);
  const ReportPage page = [&] {
    const ReadProgress progress(reader, "reading " + path);
    return read_report(reader, path, summary, memory::OwnCode(own));
  }();
  const Ledger ledger(summary, page.report.problems);
  print(json ? report_json(page, ledger) : report_text(page));
  if (!json) ledger.show();
  return strict && !ledger.empty() ? kIncomplete : kDone;
}

}  // namespace kymo::cli
