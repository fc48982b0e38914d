// The preamble for a user's OpenCL C, and what Kymo looks for in the source. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "device/backend.h"

namespace kymo::device::opencl {

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

}  // namespace kymo::device::opencl
