// `kymo info` of a capture: what it holds.

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "capture/replay/reader.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "device_commands/program.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using capture::CallSummary;
using capture::CaptureFile;

std::string mean_text(const CallSummary& call) {
  return call.timed_calls == 0 ? "-" : duration_text(call.device_ns / call.timed_calls);
}

std::string calls_text(const CaptureFile& capture, const capture::Summary& summary) {
  base::TextTable table({"calls", "device time", "mean", "tensors"}, {{"kernel"}, {"shader"}});
  for (const CallSummary& call : summary.calls) {
    table.add({count_text(call.calls), call.timed_calls == 0 ? "-" : duration_text(call.device_ns), mean_text(call),
               bytes_text(call.tensor_bytes),
               call.is_kernel ? base::printable(call.name) : base::format("({})", call.name),
               call.is_kernel ? capture.shaders()[call.shader].name : ""});
  }
  return shown(table);
}

std::string as_text(const CaptureFile& capture, const capture::Summary& summary) {
  const capture::Manifest& manifest = capture.manifest();
  const capture::Tables& tables = capture.tables();
  std::string text = base::format("{}\n", coloured(base::printable(capture.folder()), Colour::Bold, Stream::Output));
  const auto line = [&](std::string_view name, const std::string& value) {
    text += base::format("  {:<10}{}\n", name, value);
  };
  line("captured",
       base::format("{}, for {}, by Kymo {}", date_text(manifest.started_ns),
                    duration_text(manifest.stopped_ns - manifest.started_ns), base::printable(manifest.kymo_version)));
  for (const capture::DeviceRecord& device : tables.devices)
    line("device", base::format("{}  {}  ({})", base::printable(device.name), base::printable(device.description),
                                base::printable(device.driver)));
  line("calls", base::format("{} on {}, {} on the device", count_text(manifest.calls),
                             count_of(summary.streams, "stream"), duration_text(manifest.device_ns)));
  line("buffers", base::format("{}, {} in total, {} freed during the capture", count_text(summary.buffers),
                               bytes_text(summary.buffer_bytes), count_text(summary.freed)));
  line("contents",
       base::format("{}, in {}", bytes_text(manifest.content_bytes), count_of(manifest.pieces, "different piece")));
  line("on disk", bytes_text(summary.stored_bytes));
  if (!manifest.problem.empty()) line("problem", base::printable(manifest.problem));
  for (const capture::FileEntry& shader : capture.shaders())
    line("shader", base::format("{}  {}", shader.name, bytes_text(shader.bytes)));
  if (!summary.calls.empty()) text += "\n" + calls_text(capture, summary);
  return text;
}

std::string as_json(const CaptureFile& capture, const capture::Summary& summary) {
  const capture::Manifest& manifest = capture.manifest();
  const capture::Tables& tables = capture.tables();
  base::JsonWriter json;
  json.begin_object();
  json.field("capture", capture.folder());
  json.field("name", manifest.name);
  json.field("kymo", manifest.kymo_version);
  json.field("started_ns", manifest.started_ns);
  json.field("stopped_ns", manifest.stopped_ns);
  json.field("problem", manifest.problem);
  json.begin_array("devices");
  for (const capture::DeviceRecord& device : tables.devices) {
    json.begin_object();
    json.field("name", device.name);
    json.field("description", device.description);
    json.field("driver", device.driver);
    json.end_object();
  }
  json.end_array();
  json.begin_array("shaders");
  for (const capture::LibraryRecord& library : tables.libraries) {
    json.begin_object();
    json.field("file", capture.shaders()[library.shader].name);
    json.field("bytes", capture.shaders()[library.shader].bytes);
    json.field("language", language_name(library.language));
    json.begin_array("options");
    for (const std::string& option : library.options.options) json.value(option);
    json.end_array();
    json.begin_object("constants");
    for (const auto& [name, value] : library.options.constants) json.field(name, value);
    json.end_object();
    json.begin_array("headers");
    for (const auto& [name, header] : library.options.headers) json.value(name);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.begin_array("calls");
  for (const CallSummary& call : summary.calls) {
    json.begin_object();
    json.field("name", call.name);
    json.field("is_kernel", call.is_kernel);
    if (call.is_kernel) json.field("shader", capture.shaders()[call.shader].name);
    json.field("calls", call.calls);
    json.field("timed_calls", call.timed_calls);
    json.field("device_ns", call.device_ns);
    json.field("tensor_bytes", call.tensor_bytes);
    json.end_object();
  }
  json.end_array();
  json.field("call_count", manifest.calls);
  json.field("device_ns", manifest.device_ns);
  json.field("streams", summary.streams);
  json.field("buffers", summary.buffers);
  json.field("buffer_bytes", summary.buffer_bytes);
  json.field("buffers_freed", summary.freed);
  json.field("content_bytes", manifest.content_bytes);
  json.field("pieces", manifest.pieces);
  json.field("stored_bytes", summary.stored_bytes);
  json.end_object();
  return json.text();
}

}  // namespace

int capture_info(const Arguments& arguments) {
  std::string path;
  bool json = false;
  options::CommandLine line(
      "info", "kymo info FOLDER [options]",
      "Shows what a capture of device work contains: its shaders, kernels, calls and buffers, their sizes,\n"
      "and the device time of the calls. 'kymo replay' runs the capture.",
      "kymo info 0000-frame.kycap");
  line.argument("FOLDER", path, "the capture");
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  const CaptureFile capture(path);
  const capture::Summary summary = capture::summarise(capture);
  print(json ? as_json(capture, summary) : as_text(capture, summary));
  return kDone;
}

}  // namespace kymo::cli
