// Prepares a kernel for exact grids: partial groups at the edges, and more groups than one dispatch may have.
//
// A grid runs as several dispatches, each with its own group size and its own position in the grid. The kernel must not
// notice this, so its built-in variables get these values:
//
//   gl_GlobalInvocationID   the dispatch's own + `offset` in threads
//   gl_WorkGroupID          the dispatch's own + `base` in groups
//   gl_NumWorkGroups        `groups` of the whole grid
//
// Each of the three that a module reads becomes a private variable. A new entry point sets it and then calls the old
// one. The three words of each variable come from the end of the push constants. The group size becomes three
// specialization constants. Descriptors are renumbered: set 0, in the order of Kernel::bindings. The result has one
// entry point, "main".
//
// Pure. Throws CompileError for unsupported code: gl_GlobalInvocationID and similar variables passed by pointer or with
// another type than uvec3, push constants read as a whole, or so many that these words do not fit.
#pragma once

#include <optional>
#include <vector>

#include "device/vulkan/spirv_reflect.h"

namespace kymo::device::vulkan::spirv {

struct Patched {
  std::vector<uint32_t> words;
  // Ids of specialization constants: those of the group size, and those of the module that also stand for it.
  std::array<uint32_t, 3> size_constants{};
  std::array<std::optional<uint32_t>, 3> own_size_constants;

  // Which of the three the module reads; each takes three words, in this order.
  bool offset = false, base = false, groups = false;
  uint32_t tail_words = 0;
  uint32_t tail_offset = 0;  // in bytes
};

// `push_limit`: the size of the device's push constants in bytes.
Patched patch(const Module& module, const Kernel& kernel, uint32_t push_limit);

}  // namespace kymo::device::vulkan::spirv
