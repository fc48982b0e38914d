#include <string>

#include "base/json_writer.h"
#include "cli/report_output.h"

namespace kymo::cli {
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

}  // namespace kymo::cli
