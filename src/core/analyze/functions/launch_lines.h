// The device time of source lines: kernels and copies belong to the Python function that launched them.
//
// An operation has the line of the innermost function that was open on its thread when it was launched, with those of
// PyTorch itself left out, if others are open. Such functions are ranges: of kymo record --python ("read (data.py:12)")
// or of PyTorch's profiler ("data.py(12): read"). Their line is the one where the function begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyze/functions/functions.h"
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
void add_device_time(FunctionTable& lines, const trace::Reader& reader, std::vector<trace::Problem>& problems);

}  // namespace kymo::functions
