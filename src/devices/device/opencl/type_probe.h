// The size of a type in a user's source, and the number type that it stands for, if the API does not report it.
//
// clGetKernelArgInfo returns the name that a parameter's type has in the source: "Settings", "index_t". So the source
// is compiled again with small kernels after it. Each of them states an answer as its required group size, which the
// API can read without a launch. Costs one compilation, and only for sources that have such parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/opencl/context.h"
#include "device/opencl/types.h"

namespace kymo::device::opencl {

struct ProbedType {
  uint32_t bytes = 0;  // 0: unknown
  std::optional<NumberType> number;
};

// One answer per type, in order. `text` is the source with its preamble. Does not throw if something does not compile.
std::vector<ProbedType> probe_types(const Context& context, const std::string& text, const std::string& options,
                                    std::span<const std::string> types);

// The text of the probe kernels: pure, for tests.
std::string probe_kernels(std::span<const std::string> types, std::span<const NumberType> numbers);

}  // namespace kymo::device::opencl
