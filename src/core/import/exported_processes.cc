#include "import/exported_processes.h"

#include "json/document.h"
#include "kymo/error.h"

namespace kymo::import {
namespace {

// What PyTorch's profiler writes in place of the variables of a launcher.
constexpr std::string_view kDistributedInfo = "distributedInfo";

ExportedProcess read_process(const json::Value& process) {
  ExportedProcess found;
  const auto pid = process.find("pid_of_events");
  found.pid = (pid ? *pid : process["pid"]).number("pid");
  found.host = process["host"].text("host");
  for (const auto& [key, value] : process["metadata"].members("metadata"))
    if (names_variable(key) || key == kDistributedInfo) found.environment.emplace_back(key, value.text(key));
  return found;
}

}  // namespace

std::vector<ExportedProcess> exported_processes(std::string_view untrusted) {
  std::vector<ExportedProcess> found;
  try {
    const json::Document document(untrusted, json::RepeatedNames::LastCounts);
    for (const json::Value& process : document.root()["processes"].list("processes"))
      found.push_back(read_process(process));
  } catch (const Error&) {
    return {};
  }
  return found;
}

bool names_variable(std::string_view name) {
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos;
}

}  // namespace kymo::import
