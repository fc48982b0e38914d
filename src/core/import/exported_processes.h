// The processes of a trace that Kymo exported as JSON: its member "kymo" describes them
// (convert/formats/chrome_header.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kymo::import {

struct ExportedProcess {
  uint64_t pid = 0;  // of its events
  std::string host;
  std::vector<std::pair<std::string, std::string>> environment;  // job, rank and run are in it
};

// `untrusted` is the member. Empty if another tool wrote it.
std::vector<ExportedProcess> exported_processes(std::string_view untrusted);

// Environment variables have such names.
bool names_variable(std::string_view name);

}  // namespace kymo::import
