// The kernels of a built program and their parameters, as the driver reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "device/opencl/build.h"
#include "device/opencl/context.h"

namespace kymo::device::opencl {

// Understands the names that OpenCL compilers give to the types of parameters. Pure functions.

// A scalar or a vector of OpenCL C: "float", "unsigned int", "uchar16". A vector of three takes the space of four.
struct NumberType {
  DType type = DType::F32;
  uint32_t count = 1;
  uint32_t bytes() const { return static_cast<uint32_t>(size_of(type)) * (count == 3 ? 4 : count); }
  bool operator==(const NumberType&) const = default;
};
std::optional<NumberType> number_type(std::string_view name);

// A parameter from the result of clGetKernelArgInfo. A value whose type is not a number (a structure, a typedef)
// becomes Unknown with 0 bytes: only the driver knows its size. A type that a launch cannot pass, such as an image or a
// sampler, has a count of 0 too.
Parameter parameter_of(std::string_view name, std::string_view type_name, bool is_local, bool is_private);

// The preamble for a user's OpenCL C, and what Kymo looks for in the source. Pure functions.

// Which differences between a launch and its pieces (pieces.h) a source can see. Decided by the words in the source; a
// source that includes files may see everything.
struct Sees {
  bool groups = false;        // it can see how threads are grouped at all
  bool launch_shape = false;  // it uses a group's number, the size or offset of the launch, or requires a group size
  bool launch_size = false;   // and of these, something that needs the size of the whole launch
};
Sees look_into(std::string_view source, std::string_view options);

// Lines before the source, so that its own lines begin at 1 in `file`: errors then have the user's line numbers.
// Contraction of a * b + c is off, because results should not depend on the device, unless an option asks for speed.
std::string preamble(std::string_view file, std::string_view options);

// The same for a piece of a launch. Its kernels see the whole launch: the number of their group, its size, no offset. A
// required group size is ignored. `tail` is the remainder of the launch in each dimension (tail_of).
std::string piece_preamble(std::string_view file, std::string_view options, const Extent& group, const Extent& tail);

// Needed for reflection. With it, NVIDIA's compiler fails for kernels without parameters.
inline constexpr std::string_view kForReflection = "-cl-kernel-arg-info";
// Needed for the divisions and square roots of a translated kernel, on devices that support it.
inline constexpr std::string_view kForRounding = "-cl-fp32-correctly-rounded-divide-sqrt";

// The options for the compiler: the runtime's own, and the newest language unless the user names one.
std::string all_options(std::span<const std::string> given, std::string_view newest_language,
                        std::string own = std::string(kForReflection));

// Whether a program with these options can be launched with partial groups, on a device that supports them.
bool allows_partial_groups(std::string_view options);

// The kernels of a program, sorted by name.
std::vector<KernelInfo> reflect(const Context& context, cl_program program);

// Lowers the limits of kernels that are already known to what the device allows for each.
void limit(const Context& context, cl_program program, std::vector<KernelInfo>& kernels);

}  // namespace kymo::device::opencl
