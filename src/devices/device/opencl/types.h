// Understands the names that OpenCL compilers give to the types of parameters. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "device/backend.h"

namespace kymo::device::opencl {

// A scalar or a vector of OpenCL C: "float", "unsigned int", "uchar16". A vector of three takes the space of four.
struct NumberType {
  DType type = DType::F32;
  uint32_t count = 1;
  uint32_t bytes() const { return static_cast<uint32_t>(size_of(type)) * (count == 3 ? 4 : count); }
  bool operator==(const NumberType&) const = default;
};
std::optional<NumberType> number_type(std::string_view name);

// The OpenCL C name of a number type: "uint4".
std::string name_of(const NumberType& type);

// A parameter from the result of clGetKernelArgInfo. A value whose type is not a number (a structure, a typedef)
// becomes Unknown with 0 bytes. So do types that a launch cannot pass: images, samplers, pipes, queues.
Parameter parameter_of(std::string_view name, std::string_view type_name, bool is_local, bool is_private);

// Whether an argument of that type can be passed as bytes once its size is known: not an image, a sampler, a pipe or a
// queue.
bool may_be_bytes(std::string_view type_name);

}  // namespace kymo::device::opencl
