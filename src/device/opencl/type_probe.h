// How long a type of a user's source is, and which number it stands for, where the API does not say.
//
// clGetKernelArgInfo gives a parameter's type by the name it has in the source: "Settings", "index_t". So the source is
// compiled once more with small kernels behind it that state the answers where the API can read them without a launch:
// as the group size that they demand. Costs one compilation, and only for sources that have such parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/opencl/context.h"
#include "device/opencl/types.h"

namespace kymo::device::opencl {

struct ProbedType {
  uint32_t bytes = 0;  // 0: could not be found out
  std::optional<NumberType> number;
};

// One answer a type, in order. `text` is the source with its preamble. Never throws for what does not compile.
std::vector<ProbedType> probe_types(const Context& context, const std::string& text, const std::string& options,
                                    std::span<const std::string> types);

// The kernels that are asked: pure, for tests.
std::string probe_kernels(std::span<const std::string> types, std::span<const NumberType> numbers);

}  // namespace kymo::device::opencl
