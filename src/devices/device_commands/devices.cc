// `kymo devices`: lists the accelerators and their features, and why a backend has no device.

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "device_commands/program.h"
#include "kymo/device.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using device::BackendReport;

void add_strings(base::JsonWriter& json, const char* name, const std::vector<std::string>& values) {
  json.begin_array(name);
  for (const std::string& value : values) json.value(value);
  json.end_array();
}

std::string as_json(const std::vector<BackendReport>& reports) {
  base::JsonWriter json;
  json.begin_array();
  for (const BackendReport& report : reports) {
    json.begin_object();
    json.field("backend", report.backend);
    if (!report.absent.empty()) json.field("absent", report.absent);
    json.begin_array("devices");
    for (const auto& device : report.devices) {
      json.begin_object();
      json.field("name", device.name);
      json.field("description", device.description);
      json.field("driver", device.driver);
      json.field("uuid", device.uuid);
      json.field("current", device.current);
      json.field("memory", device.memory);
      json.field("recommended_max", device.recommended_max);
      json.field("compute_units", device.compute_units);
      json.field("max_threads_per_group", device.max_threads_per_group);
      json.field("execution_width", device.execution_width);
      add_strings(json, "languages", device.languages);
      add_strings(json, "capabilities", device.capabilities);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  return json.text();
}

std::string as_text(const std::vector<BackendReport>& reports) {
  std::string text;
  for (const BackendReport& report : reports) {
    for (const auto& device : report.devices) {
      const std::string name = coloured(base::printable(device.name), Colour::Bold, Stream::Output);
      text +=
          base::format("{}  {}{}\n", name, base::printable(device.description), device.current ? "  (current)" : "");
      text += base::format("  driver     {}\n", base::printable(device.driver));
      text += base::format("  memory     {} total, {} recommended maximum\n", bytes_text(device.memory),
                           bytes_text(device.recommended_max));
      text += base::format("  threads    {} compute units, SIMD width {}, up to {} threads in a group\n",
                           device.compute_units, device.execution_width, device.max_threads_per_group);
      text += base::format("  languages  {}\n", device.languages.empty() ? "none" : base::join(device.languages, ", "));
      text += base::format("  features   {}\n", base::join(device.capabilities, ", "));
    }
    if (!report.devices.empty()) continue;
    // The reason begins with the name of the API: "CUDA: libcuda.so.1: ...".
    std::string_view reason = report.absent;
    if (reason.find(": ") == report.backend.size()) reason.remove_prefix(report.backend.size() + 2);
    text += base::format("{}  not available: {}\n", report.backend, base::printable(reason));
  }
  return text;
}

}  // namespace

int device_checks(const Arguments&) {
  for (const BackendReport& report : device::list_devices()) {
    for (const auto& device : report.devices)
      print(base::format("good\tdevice {}\t{}\t\n", base::printable(device.name), base::printable(device.description)));
    if (report.devices.empty())
      print(base::format("doubtful\tdevice {}\tno device\t{}\n", report.backend, base::printable(report.absent)));
  }
  return kDone;
}

int devices(const Arguments& arguments) {
  bool json = false;
  options::CommandLine line(
      "devices", "kymo devices [options]",
      "Lists the accelerators of this machine and their features, and why a backend has no device.\n"
      "KYMO_DEVICE=cuda:0 (or opencl:1, vulkan, …) chooses the one that programs use.",
      "kymo devices");
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  const auto reports = device::list_devices();
  print(json ? as_json(reports) : as_text(reports));
  return kDone;
}

}  // namespace kymo::cli
