// `kymo replay`: runs the device work of a capture again, measures it and checks the results.
#include "capture/replay/replay.h"

#include <charconv>
#include <cmath>

#include "base/clock_map.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "device_commands/program.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using capture::Mismatch;
using capture::ReplayReport;
using capture::ReplayRow;

constexpr size_t kMaxMismatchesShown = 10;

struct ReplayCommand {
  std::string path;
  capture::ReplayOptions options;
  bool no_verify = false, json = false;
};

uint64_t quantile(const std::vector<uint64_t>& sorted, double share) {
  return base::round_ns(base::quantile_of_sorted(sorted, share));
}

std::string known_time(const std::vector<uint64_t>& sorted, double share) {
  return sorted.empty() ? "-" : duration_text(quantile(sorted, share));
}

std::string ratio_text(const ReplayReport& report) {
  return base::format("{:.2f}", static_cast<double>(report.replayed_ns) / static_cast<double>(report.original_ns));
}

// A row for each kernel, or for each named operation; `rate` is its rate per second, in `unit`.
std::string rows_text(std::span<const ReplayRow> rows, uint64_t runs, const char* unit, const char* noun,
                      double (ReplayRow::*rate)(uint64_t) const) {
  base::TextTable table({"runs", "min", "median", "p99", "original"}, {{unit, base::TextTable::Align::Right}, {noun}});
  for (const ReplayRow& row : rows) {
    const double known = (row.*rate)(runs);
    table.add({count_text(row.calls * runs), known_time(row.times, 0), known_time(row.times, 0.5),
               known_time(row.times, 0.99), known_time(row.original, 0.5),
               known > 0 ? base::format("{:.2f}", known) : "-",
               row.is_named ? base::printable(row.name) : base::format("({})", row.name)});
  }
  return shown(table);
}

std::string mismatch_text(const Mismatch& mismatch) {
  return base::format("buffer {} ({}): element {} is {}, expected {} ({} of {} differ)", mismatch.buffer,
                      name_of(mismatch.dtype), mismatch.element, mismatch.now, mismatch.then,
                      count_text(mismatch.differing), count_of(mismatch.elements, "element"));
}

std::string as_text(const ReplayReport& report) {
  std::string text = base::format("{} on {}\n", count_of(report.calls, "call"),
                                  report.devices.empty() ? "no device" : base::join(report.devices, ", "));
  if (report.runs > 0 && !report.rows.empty()) {
    text += "\n" + rows_text(report.rows, report.runs, "GB/s", "kernel", &ReplayRow::gigabytes_per_second) + "\n";
  }
  if (report.runs > 0 && !report.operations.empty()) {
    text += rows_text(report.operations, report.runs, "GFLOP/s", "operation", &ReplayRow::gigaflops) + "\n";
  }
  if (report.runs > 0 && report.original_ns > 0) {
    text += base::format("device time of a run: {}, originally {}: {} times as long\n",
                         duration_text(report.replayed_ns), duration_text(report.original_ns), ratio_text(report));
  }
  if (!report.verified) return text + "results were not compared\n";
  if (report.mismatches.empty())
    text += base::format("results are the same: {} compared\n", count_of(report.buffers_compared, "buffer"));
  if (report.buffers_unknown > 0)
    text += base::format("{} not compared: no captured result\n", count_of(report.buffers_unknown, "buffer"));
  return text;
}

void write_times(base::JsonWriter& json, const char* name, const std::vector<uint64_t>& sorted) {
  json.begin_object(name);
  json.field("count", sorted.size());
  json.field("min_ns", quantile(sorted, 0));
  json.field("median_ns", quantile(sorted, 0.5));
  json.field("p99_ns", quantile(sorted, 0.99));
  json.end_object();
}

void write_rows(base::JsonWriter& json, const char* name, const std::vector<ReplayRow>& rows, uint64_t runs) {
  json.begin_array(name);
  for (const ReplayRow& row : rows) {
    json.begin_object();
    json.field("name", row.name);
    json.field("is_named", row.is_named);
    json.field("calls", row.calls);
    json.field("tensor_bytes", row.bytes);
    json.field("gigabytes_per_second", row.gigabytes_per_second(runs));
    json.field("gigaflops", row.gigaflops(runs));
    write_times(json, "times", row.times);
    write_times(json, "original", row.original);
    json.end_object();
  }
  json.end_array();
}

std::string as_json(const std::string& path, const ReplayReport& report) {
  base::JsonWriter json;
  json.begin_object();
  json.field("capture", path);
  json.begin_array("devices");
  for (const std::string& device : report.devices) json.value(device);
  json.end_array();
  json.field("calls", report.calls);
  json.field("runs", report.runs);
  json.field("device_ns", report.replayed_ns);
  json.field("original_device_ns", report.original_ns);
  write_rows(json, "rows", report.rows, report.runs);
  write_rows(json, "operations", report.operations, report.runs);
  json.field("verified", report.verified);
  json.field("buffers_compared", report.buffers_compared);
  json.field("buffers_unknown", report.buffers_unknown);
  json.begin_array("mismatches");
  for (const Mismatch& mismatch : report.mismatches) {
    json.begin_object();
    json.field("buffer", mismatch.buffer);
    json.field("dtype", name_of(mismatch.dtype));
    json.field("element", mismatch.element);
    json.field("now", mismatch.now);
    json.field("then", mismatch.then);
    json.field("differing", mismatch.differing);
    json.field("elements", mismatch.elements);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

double parse_tolerance(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) || !std::isfinite(value))
    throw InvalidArgument(
        base::format("'{}' is not a tolerance: give a number that is 0 or greater, such as 1e-5", text));
  return value;
}

}  // namespace

int replay_command(const Arguments& arguments) {
  ReplayCommand command;
  capture::ReplayOptions& options = command.options;
  options::CommandLine line(
      "replay", "kymo replay FOLDER [options]",
      "Runs the device calls of a capture again, on the same device or another. Compares the results with\n"
      "the captured results (exit code 1 if they differ), and shows how long each kernel took.\n"
      "This runs the kernels in the capture: replay only captures that you trust.",
      "kymo replay 0000-frame.kycap --repeat 20\n"
      "kymo replay 0000-frame.kycap --device vulkan:0 --tolerance 1e-5");
  line.argument("FOLDER", command.path, "the capture");
  line.value("--device", "NAME", options.device, "the device to run on; default: the device of the capture");
  line.text(
      "--repeat", "N", [&](const std::string& text) { options.repeat = base::parse_count(text); },
      "the number of timed runs; default: 1. An extra first run is compared but not timed");
  line.value("--kernel", "NAME", options.kernel, "show only this kernel; the whole capture still runs");
  line.text(
      "--tolerance", "X", [&](const std::string& text) { options.tolerance = parse_tolerance(text); },
      "max relative difference of floating-point results; default: 0");
  line.flag("--no-verify", command.no_verify, "do not compare the results");
  line.flag("--json", command.json, "as JSON");
  if (!line.read(arguments)) return kDone;
  options.verify = !command.no_verify;

  const capture::CaptureFile capture(command.path);
  if (!capture.manifest().problem.empty())
    say_warning("the capture is incomplete: " + base::printable(capture.manifest().problem));
  const ReplayReport report = capture::replay(capture, options);
  print(command.json ? as_json(command.path, report) : as_text(report));
  for (size_t i = 0; i < std::min(report.mismatches.size(), kMaxMismatchesShown); ++i)
    say_error(mismatch_text(report.mismatches[i]));
  if (report.mismatches.size() > kMaxMismatchesShown)
    say_error(base::format("… and {}", count_of(report.mismatches.size() - kMaxMismatchesShown, "more buffer")));
  return report.mismatches.empty() ? kDone : kFailed;
}

}  // namespace kymo::cli
