#include "commands/read/report.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analyze/functions/functions.h"
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
#include "options/command_line.h"
#include "trace/model.h"

namespace kymo::cli {
namespace {

using analyze::Iterations;
using Align = base::TextTable::Align;

constexpr size_t kRows = 8;
constexpr size_t kWidestName = 100, kWidestSentence = 240;  // --json has whole names

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "" : base::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string short_name(std::string_view name) { return base::shorten_middle(base::printable(name), kWidestName); }

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
  std::string text = base::format("{}: {}, {}", base::printable(page.path), count_of(page.summary.events(), "event"),
                                  duration_text(page.summary.duration_ns));
  std::string names;
  size_t left = 3;
  std::set<std::pair<std::string, uint64_t>> seen;
  for (const analyze::ProcessSummary& process : page.summary.processes) {
    if (process.ranges + process.points == 0 || process.origin.pid == 0 || left == 0) continue;
    const std::string name = trace::program_name(process.origin.executable);
    // The annotations and the samples of a process have a writer each.
    if (name.empty() || !seen.emplace(name, process.origin.pid).second) continue;
    --left;
    names += base::format("{}{} ({})", names.empty() ? "" : ", ", base::printable(name), process.origin.pid);
  }
  return text + (names.empty() ? "" : ", of " + names) + "\n";
}

std::string iterations_text(const analyze::Report& report) {
  const Iterations& iterations = report.iterations;
  if (iterations.source == Iterations::Source::WholeTrace)
    return "no iterations found: the whole trace is one window (call kymo::step() once per iteration)\n";
  const size_t count = iterations.list.size();
  const std::string of = iterations.source == Iterations::Source::StepMarks
                             ? std::string("kymo::step()")
                             : base::format("\"{}\"", short_name(iterations.name));
  return base::format("{} of {} on {}: median {}, {} to {}; the longest is number {}, at +{}\n",
                      count_of(count, "iteration"), of, base::printable(report.main_thread),
                      duration_text(report.median_ns), duration_text(report.shortest_ns),
                      duration_text(report.longest_ns), report.longest_iteration,
                      duration_text(since(report.first_ns, iterations.list[report.longest_iteration].begin)));
}

std::string parts_text(const analyze::Report& report) {
  const uint64_t count = std::max<size_t>(report.iterations.list.size(), 1);
  const bool is_window = report.iterations.source == Iterations::Source::WholeTrace;
  std::string text = heading(base::format("Where the time {}went{}", is_window ? "" : "of an iteration ",
                                          report.main_device.empty()
                                              ? base::format(" ({}, self time)", base::printable(report.main_thread))
                                              : base::format(" ({})", base::printable(report.main_device))));
  base::TextTable table({{"time", Align::Right}, {"share", Align::Right}, {"part"}});
  uint64_t sum = 0;
  for (const analyze::ReportPart& part : report.parts) {
    table.add({duration_text(part.ns / count), percent(part.ns, report.window_ns), base::printable(part.name)});
    sum += part.ns;
  }
  table.add({duration_text(sum / count), percent(sum, report.window_ns),
             is_window ? "all" : base::format("an iteration, on average of {}", count)});
  return text + shown(table, 2);
}

std::string devices_text(const analyze::Report& report) {
  if (report.devices.empty()) return "";
  std::string text = heading("Devices");
  base::TextTable table({{"busy", Align::Right},
                         {"computes", Align::Right},
                         {"communicates", Align::Right},
                         {"hidden", Align::Right},
                         {"copies", Align::Right},
                         {"hidden", Align::Right},
                         {"queued", Align::Right},
                         {"max", Align::Right},
                         {"operations", Align::Right},
                         {"device"}});
  for (const analyze::DeviceReport& device : report.devices) {
    const analyze::DeviceTime& time = device.time;
    const auto hidden = [](uint64_t all, uint64_t exposed) { return all == 0 ? "" : percent(all - exposed, all); };
    table.add({percent(time.window_ns - time.idle_total_ns(), time.window_ns), percent(time.compute_ns, time.window_ns),
               percent(time.communication_ns, time.window_ns),
               hidden(time.communication_ns, time.exposed_communication_ns), percent(time.copies_ns, time.window_ns),
               hidden(time.copies_ns, time.exposed_copies_ns), base::format("{:.1f}", time.mean_outstanding),
               count_text(time.most_outstanding), count_text(time.operations), base::printable(device.name)});
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
    base::TextTable rows({{"self", Align::Right}, {"count", Align::Right}, {"name"}});
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
    base::TextTable table({{"total", Align::Right},
                           {"share", Align::Right},
                           {"count", Align::Right},
                           {"longest", Align::Right},
                           {"operation"}});
    for (size_t i = 0; i < std::min(kRows, device.operations.size()); ++i) {
      const analyze::OperationRow& row = device.operations[i];
      table.add({duration_text(row.total_ns), percent(row.total_ns, report.window_ns), count_text(row.count),
                 duration_text(row.longest_ns), base::printable(row.name)});
    }
    text += shown(table, 2) + more_text(device.operations, kRows, &analyze::OperationRow::total_ns);
  }
  if (!report.shapes.empty()) {
    text += heading("Longest operations by the shapes of their inputs");
    base::TextTable table({{"total", Align::Right}, {"count", Align::Right}, {"operation"}, {"shapes"}});
    for (size_t i = 0; i < std::min(kRows, report.shapes.size()); ++i) {
      const analyze::ShapeRow& row = report.shapes[i];
      table.add(
          {duration_text(row.total_ns), count_text(row.count), short_name(row.name), base::printable(row.shapes)});
    }
    text += shown(table, 2) + more_text(report.shapes, kRows, &analyze::ShapeRow::total_ns);
  } else if (!report.devices.empty() && !report.host.rows.empty()) {
    text += heading(base::format("Longest on {}", base::printable(report.main_thread)));
    base::TextTable table({{"self", Align::Right}, {"count", Align::Right}, {"longest", Align::Right}, {"name"}});
    for (size_t i = 0; i < std::min(kRows, report.host.rows.size()); ++i) {
      const analyze::HostRow& row = report.host.rows[i];
      table.add({duration_text(row.self_ns), count_text(row.count), duration_text(row.longest_ns),
                 base::printable(row.name)});
    }
    text += shown(table, 2) + more_text(report.host.rows, kRows, &analyze::HostRow::self_ns);
  }
  return text;
}

std::string clocks_text(const analyze::Report& report) {
  if (report.clocks.empty()) return "";
  base::TextTable table({{"lowest", Align::Right},
                         {"mean", Align::Right},
                         {"highest", Align::Right},
                         {"samples", Align::Right},
                         {"clock"},
                         {"where"}});
  for (size_t i = 0; i < std::min(kRows, report.clocks.size()); ++i) {
    const analyze::ClockRate& rate = report.clocks[i];
    table.add({base::format("{:g}", rate.min), base::format("{:.5g}", rate.mean), base::format("{:g}", rate.max),
               count_text(rate.count), base::printable(rate.name), base::printable(rate.where)});
  }
  std::string text = heading("Clock frequencies") + shown(table, 2);
  if (report.clocks.size() > kRows)
    text += base::format("  {} (--json has all)\n", count_of(report.clocks.size() - kRows, "more clock"));
  return text;
}

std::string functions_text(const functions::FunctionTable& all) {
  base::TextTable table(
      {{"self", Align::Right}, {"share", Align::Right}, {"total", Align::Right}, {"module"}, {"function"}});
  for (size_t i = 0; i < std::min(kRows, all.rows.size()); ++i) {
    const functions::FunctionRow& row = all.rows[i];
    table.add({duration_text(row.self_ns), percent(row.self_ns, all.time_ns), duration_text(row.total_ns),
               base::printable(row.module.substr(row.module.rfind('/') + 1)), base::printable(row.function)});
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
  for (const MemoryAtPeak::Holder& holder : memory.holders)
    text += base::format("  {} allocated in {}\n", bytes_text(holder.bytes),
                         holder.range.empty() ? "no range" : short_name(holder.range));
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

std::string findings_text(const ReportPage& page) {
  const analyze::Report& report = page.report;
  std::string text = heading("Findings");
  if (report.findings.empty()) return text + "  nothing stands out\n";
  size_t number = 0;
  for (const analyze::Finding& finding : report.findings) {
    text += base::format("  {}. {} (at most {}).\n", ++number, sentence(finding.text), duration_text(finding.saves_ns));
    for (const std::string& row : finding.evidence) text += base::format("       {}\n", sentence(row));
    text += base::format("     more: {}\n", base::printable(command_of(finding, page.path)));
  }
  return text;
}

}  // namespace

MemoryAtPeak MemoryAtPeak::of(const memory::Profile& profile) {
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
  return at_peak;
}

std::string command_of(const analyze::Finding& finding, const std::string& path) {
  std::string command = finding.command;
  if (const size_t at = command.find("FILE"); at != std::string::npos) command.replace(at, 4, base::shell_word(path));
  return command;
}

std::string report_text(const ReportPage& page) {
  const analyze::Report& report = page.report;
  std::string text = file_text(page);
  if (page.summary.events() == 0) return text + "no events\n";
  text += iterations_text(report) + parts_text(report) + devices_text(report) + operations_text(report) +
          clocks_text(report);
  if (page.functions) text += functions_text(*page.functions);
  if (page.memory) text += memory_text(*page.memory);
  return text + cost_text(page.summary) + findings_text(page);
}

namespace {

using base::JsonWriter;

const char* source_name(analyze::Iterations::Source source) {
  switch (source) {
    case analyze::Iterations::Source::StepMarks:
      return "step";
    case analyze::Iterations::Source::NamedRanges:
      return "named ranges";
    case analyze::Iterations::Source::RepeatingRange:
      return "repeating range";
    case analyze::Iterations::Source::WholeTrace:
      return "whole trace";
  }
  return "";
}

const char* kind_name(analyze::WorkKind kind) {
  switch (kind) {
    case analyze::WorkKind::Compute:
      return "compute";
    case analyze::WorkKind::Communication:
      return "communication";
    case analyze::WorkKind::Copy:
      return "copy";
    case analyze::WorkKind::Wait:
      return "wait";
  }
  return "";
}

void write_host_rows(JsonWriter& json, std::string_view name, const std::vector<analyze::HostRow>& rows) {
  json.begin_array(name);
  for (const analyze::HostRow& row : rows) {
    json.begin_object();
    json.field("name", row.name);
    json.field("category", row.category);
    json.field("self_ns", row.self_ns);
    json.field("total_ns", row.total_ns);
    json.field("count", row.count);
    json.field("longest_ns", row.longest_ns);
    json.end_object();
  }
  json.end_array();
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
  json.begin_array("list");
  for (const analyze::Interval& one : report.iterations.list) {
    json.begin_object();
    json.field("start_ns", one.begin - report.first_ns);
    json.field("duration_ns", one.end - one.begin);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_device(JsonWriter& json, const analyze::DeviceReport& device) {
  const analyze::DeviceTime& time = device.time;
  json.begin_object();
  json.field("name", device.name);
  json.field("window_ns", time.window_ns);
  json.field("compute_ns", time.compute_ns);
  json.field("communication_ns", time.communication_ns);
  json.field("exposed_communication_ns", time.exposed_communication_ns);
  json.field("copies_ns", time.copies_ns);
  json.field("exposed_copies_ns", time.exposed_copies_ns);
  json.begin_object("idle_ns");
  for (size_t cause = 0; cause < analyze::kIdleCauses; ++cause)
    json.field(analyze::text_of(static_cast<analyze::IdleCause>(cause)), time.idle_ns[cause]);
  json.end_object();
  json.field("busy_outside_ns", time.busy_outside_ns);
  json.field("operations", time.operations);
  json.field("mean_outstanding", time.mean_outstanding);
  json.field("most_outstanding", time.most_outstanding);
  json.begin_array("longest");
  for (const analyze::OperationRow& row : device.operations) {
    json.begin_object();
    json.field("name", row.name);
    json.field("kind", kind_name(row.kind));
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("longest_ns", row.longest_ns);
    json.end_object();
  }
  json.end_array();
  write_host_rows(json, "host_during_late_launches", device.during_late);
  json.field("host_during_late_launches_outside_ns", device.during_late_outside_ns);
  json.end_object();
}

void write_findings(JsonWriter& json, const ReportPage& page) {
  json.begin_array("findings");
  for (const analyze::Finding& finding : page.report.findings) {
    json.begin_object();
    json.field("text", finding.text);
    json.field("saves_ns", finding.saves_ns);
    json.begin_array("evidence");
    for (const std::string& row : finding.evidence) json.value(row);
    json.end_array();
    json.field("command", command_of(finding, page.path));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string report_json(const ReportPage& page, const Ledger& ledger) {
  const analyze::Report& report = page.report;
  JsonWriter json;
  json.begin_object();
  json.field("file", page.path);
  json.field("events", page.summary.events());
  json.field("duration_ns", page.summary.duration_ns);
  json.field("window_ns", report.window_ns);
  write_iterations(json, report);
  json.begin_array("parts");
  for (const analyze::ReportPart& part : report.parts) {
    json.begin_object();
    json.field("name", part.name);
    json.field("ns", part.ns);
    json.end_object();
  }
  json.end_array();
  json.begin_array("devices");
  for (const analyze::DeviceReport& device : report.devices) write_device(json, device);
  json.end_array();
  json.field("device_operations_left_out", report.device_operations_left_out);
  write_host_rows(json, "host", report.host.rows);
  json.field("host_outside_ns", report.host.outside_ns);
  json.begin_array("shapes");
  for (const analyze::ShapeRow& row : report.shapes) {
    json.begin_object();
    json.field("name", row.name);
    json.field("shapes", row.shapes);
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.end_object();
  }
  json.end_array();
  json.begin_array("clocks");
  for (const analyze::ClockRate& rate : report.clocks) {
    json.begin_object();
    json.field("name", rate.name);
    json.field("where", rate.where);
    json.field("count", rate.count);
    json.field("min", rate.min);
    json.field("mean", rate.mean);
    json.field("max", rate.max);
    json.end_object();
  }
  json.end_array();
  if (page.functions) {
    constexpr size_t kMost = 20;  // kymo stats --by function --json has all
    json.begin_array("functions");
    for (size_t i = 0; i < std::min(kMost, page.functions->rows.size()); ++i) {
      const functions::FunctionRow& row = page.functions->rows[i];
      json.begin_object();
      json.field("function", row.function);
      json.field("module", row.module);
      json.field("self_ns", row.self_ns);
      json.field("total_ns", row.total_ns);
      json.end_object();
    }
    json.end_array();
  }
  if (page.memory) {
    json.begin_object("memory");
    json.field("peak_bytes", page.memory->peak_bytes);
    json.field("peak_after_ns", page.memory->after_begin_ns);
    json.field("end_bytes", page.memory->end_bytes);
    json.begin_array("at_peak");
    for (const MemoryAtPeak::Holder& holder : page.memory->holders) {
      json.begin_object();
      json.field("range", holder.range);
      json.field("bytes", holder.bytes);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  write_findings(json, page);
  ledger.write(json);
  json.end_object();
  return json.text();
}

std::string idle_json(const analyze::Report& report) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("devices");
  for (const analyze::DeviceReport& device : report.devices) write_device(json, device);
  json.end_array();
  json.end_object();
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
