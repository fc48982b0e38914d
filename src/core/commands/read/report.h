// The two forms of a report: a page of text, and JSON with everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/functions/launch_lines.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/stacks.h"
#include "analyze/report/report.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/text_table.h"
#include "cli/ledger.h"

namespace kymo::cli {

struct MemoryAtPeak {
  struct Holder {
    std::string where;
    uint64_t bytes = 0;
  };
  uint64_t peak_bytes = 0, end_bytes = 0;
  uint64_t after_begin_ns = 0;
  std::vector<Holder> holders;  // the ranges in which most of it was allocated
  std::vector<Holder> lines;    // the lines of the user's Python that allocated most of it; without ranges, of any code

  static MemoryAtPeak of(memory::Profile& profile, const memory::OwnCode& own);
};

struct ReportPage {
  std::string path;
  const analyze::Summary& summary;
  analyze::Report report;
  std::optional<MemoryAtPeak> memory;
  std::optional<functions::FunctionTable> functions;  // if there are CPU samples
  std::optional<functions::DeviceLines> lines;        // of the user's code that launched work of devices
};

// All that a trace has for the page. The summary must outlive it.
ReportPage read_report(const trace::Reader& reader, const std::string& path, const analyze::Summary& summary,
                       const memory::OwnCode& own = memory::OwnCode());

// The columns of a table for the counters of kernels, and their cells. "not enough samples" is in the last of them.
std::vector<base::TextTable::Column> gpu_columns();
std::vector<std::string> gpu_cells(const analyze::GpuUse& use, const analyze::GpuRow& row);
void write_gpu_row(base::JsonWriter& json, const analyze::GpuUse& use, const analyze::GpuRow& row);

// Why the warps of kernels wait: a table, and "stalls" with everything (stalls.cc).
std::string stalls_text(const std::vector<analyze::KernelStalls>& kernels);
void write_stalls(base::JsonWriter& json, const std::vector<analyze::KernelStalls>& kernels);

// The command of a finding, with the name of the trace in it.
std::string command_of(const analyze::Finding& finding, const std::string& path);

std::string report_text(const ReportPage& page);
std::string report_json(const ReportPage& page, const Ledger& ledger);
// Only the part about devices, with the causes of their idle time.
std::string idle_json(const analyze::Report& report);

}  // namespace kymo::cli
