// What is put before a user's OpenCL C, and what is looked for in it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "device/backend.h"

namespace kymo::device::opencl {

// Which of the things that differ between a launch and its pieces (pieces.h) a source can see. Judged by the words in
// it; a source that includes files may see everything.
struct Sees {
  bool groups = false;        // it can tell how threads are grouped at all
  bool launch_shape = false;  // it asks for a group's number, the size or the offset of the launch, or demands a group
  bool launch_size = false;   // of these, for something that needs the size of the whole launch
};
Sees look_into(std::string_view source, std::string_view options);

// Lines to put before the source so that its own begin at 1 in `file`: errors then name what the user knows.
// Contraction of a * b + c is off, as results should not depend on the device, unless an option asks for speed instead.
std::string preamble(std::string_view file, std::string_view options);

// The same for a piece of a launch. Kernels in it see the whole launch: their group's number, its size, no offset; a
// demanded group size is ignored. `tail` is what is left over of the launch in each dimension (tail_of).
std::string piece_preamble(std::string_view file, std::string_view options, const Extent& group, const Extent& tail);

// What reflection needs. NVIDIA's compiler then fails at kernels without parameters.
inline constexpr std::string_view kForReflection = "-cl-kernel-arg-info";
// What the divisions and square roots of a translated kernel need on devices that have it.
inline constexpr std::string_view kForRounding = "-cl-fp32-correctly-rounded-divide-sqrt";

// The options as the compiler gets them: the runtime's own, and the newest language unless one is named.
std::string all_options(std::span<const std::string> given, std::string_view newest_language,
                        std::string own = std::string(kForReflection));

// Whether these options make a program whose launches may have partial groups, on a device that has them.
bool allows_partial_groups(std::string_view options);

}  // namespace kymo::device::opencl
