// The report of a trace: where the time of an iteration went, why devices were idle, and what would save the most time.
//
// Every nanosecond of the window (the iterations, or the whole trace) is counted once, so the parts sum to the whole.
// Reads the columns that it needs two to four times; tens of millions of ranges per second. Memory depends on the
// number of names, of device operations, and of host ranges that overlap others, not of all host ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report/clock_rates.h"
#include "analyze/report/device_work.h"
#include "analyze/report/host_time.h"
#include "analyze/report/iterations.h"
#include "trace/reader.h"

namespace kymo::analyze {

// A part of the window.
struct ReportPart {
  std::string name;
  uint64_t ns = 0;
};

struct OperationRow {
  std::string name;
  WorkKind kind = WorkKind::Compute;
  uint64_t count = 0, total_ns = 0, longest_ns = 0;
};

struct DeviceReport {
  std::string name;
  DeviceTime time;
  std::vector<OperationRow> operations;  // most total time first
  std::vector<HostRow> during_late;      // what the launching threads did while the device waited for a launch
  uint64_t during_late_outside_ns = 0;   // of that: outside of any range
};

// Something that costs time, with what proves it.
struct Finding {
  std::string text;
  uint64_t saves_ns = 0;              // of the window, at most
  std::vector<std::string> evidence;  // rows
  std::string command;                // shows more; FILE stands for the trace
};

struct Report {
  Iterations iterations;
  uint64_t window_ns = 0;
  uint64_t median_ns = 0, shortest_ns = 0, longest_ns = 0;  // of an iteration
  size_t longest_iteration = 0;
  int64_t first_ns = 0, last_ns = 0;  // of the trace, on the host's clock
  std::string main_thread;            // the thread of the iterations
  bool has_samples = false;           // CPU samples of the program's functions
  std::string main_device;            // the busiest one; empty: none
  std::vector<ReportPart> parts;      // of the window, with device idle time by cause, or host time by name
  HostTime host;                      // of the main thread
  std::vector<DeviceReport> devices;  // busiest first
  std::vector<ShapeRow> shapes;       // operations of the main thread by the shapes of their inputs
  std::vector<ClockRate> clocks;      // frequencies, if the trace has such counters
  uint64_t device_operations_left_out = 0;
  std::vector<Finding> findings;         // at most three
  std::vector<trace::Problem> problems;  // what could not be read
};

// Never throws for a damaged trace: what is readable is reported.
Report make_report(const trace::Reader& reader);

}  // namespace kymo::analyze
