// What `kymo memory` prints.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/memory/profile.h"
#include "cli/ledger.h"

namespace kymo::cli {

struct MemoryReportOptions {
  std::string path;  // of the trace
  memory::GroupBy by = memory::GroupBy::Stack;
  size_t top = 0;      // max rows; 0: ten as text, all as JSON
  bool leaks = false;  // what was never freed, instead of what was in use at the peak
};

std::string memory_text(memory::Profile& profile, const MemoryReportOptions& options);
std::string memory_json(memory::Profile& profile, const MemoryReportOptions& options, const Ledger& ledger);

}  // namespace kymo::cli
