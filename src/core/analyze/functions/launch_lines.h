// The device time of source lines: kernels and copies belong to the line of the user's Python that launched them.
//
// Traces of kymo record have the stacks of launches (launch_stacks.h). Of other traces, an operation has the line of
// the innermost function that was open on its thread when it was launched, with those of PyTorch itself left out, if
// others are open. Such functions are ranges: of kymo record --python ("read (data.py:12)") or of PyTorch's profiler
// ("data.py(12): read"). Their line is the one where the function begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/functions/launch_stacks.h"
#include "analyze/memory/stacks.h"
#include "trace/reader.h"

namespace kymo::functions {

struct PythonFunction {
  std::string function, file;
  uint32_t line = 0;
};

// Nothing: a range with this category and name is not a Python function, or has no line.
std::optional<PythonFunction> python_function(std::string_view category, std::string_view name);

// Sets the device times of `lines`, which has more rows then, and is sorted by all of its times. Reads nothing if the
// trace has no device. What could not be read is added to `problems`.
void add_device_time(FunctionTable& lines, const trace::Reader& reader, const memory::OwnCode& own,
                     std::vector<trace::Problem>& problems);

struct OwnLine {
  std::string function, file;
  uint32_t line = 0;
  auto operator<=>(const OwnLine&) const = default;
};
// The line of the user's code that a stack belongs to. Of a backward call, its function says so. Nothing: it has none.
std::optional<OwnLine> own_line(LaunchStacks& stacks, const LaunchStack& launch, const memory::OwnCode& own);
// "model.py:42 in forward"
std::string text_of(const OwnLine& line);

// What devices did for a line, and how long they waited for the line to launch it.
struct DeviceLine {
  OwnLine line;
  uint64_t device_ns = 0, idle_ns = 0, operations = 0;
};
struct DeviceLines {
  std::vector<DeviceLine> lines;             // most time first
  uint64_t device_ns = 0, with_line_ns = 0;  // of all devices
  uint64_t idle_ns = 0;                      // between the first and the last operation, because the host was late
};
// Nothing if the trace has no device, or no stacks of launches.
std::optional<DeviceLines> device_lines(const trace::Reader& reader, const memory::OwnCode& own);

}  // namespace kymo::functions
