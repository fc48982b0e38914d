// A kernel made ready for exact grids: partial groups at the edges, and more groups than one dispatch may have.
//
// A grid is run as several dispatches, each with its own group size and its own place in the grid. What a kernel asks
// about its place must not show that, so it is told:
//
//   gl_GlobalInvocationID   the dispatch's own + `offset` in threads
//   gl_WorkGroupID          the dispatch's own + `base` in groups
//   gl_NumWorkGroups        `groups` of the whole grid
//
// Each of the three that a module reads becomes a private variable, set by a new entry point that then calls the old
// one. The three words of each come from the end of the push constants (Place::Pushed); where these have no room left,
// from specialization constants (Place::Specialised), at the price of a pipeline for each dispatch of a grid. The group
// size becomes three specialization constants. Descriptors are numbered anew: set 0, in the order of Kernel::bindings.
// The result has one entry point, "main".
//
// Pure. Throws CompileError for what it cannot do: gl_GlobalInvocationID and its like passed on by pointer or of
// another type than uvec3, push constants read as a whole.
#pragma once

#include <optional>
#include <vector>

#include "device/vulkan/spirv_reflect.h"

namespace kymo::device::vulkan::spirv {

enum class Place : uint8_t { Pushed, Specialised };

struct Patched {
  std::vector<uint32_t> words;
  // Ids of specialization constants: the group size's, and those of the module that stand for it too.
  std::array<uint32_t, 3> size_constants{};
  std::array<std::optional<uint32_t>, 3> own_size_constants;

  // Which of the three it reads; each takes three words, in this order.
  bool offset = false, base = false, groups = false;
  uint32_t tail_words = 0;
  Place place = Place::Pushed;
  uint32_t tail_offset = 0;    // Pushed: in bytes
  uint32_t tail_constant = 0;  // Specialised: the id of the first word's constant; the others follow
};

// `push_limit`: the bytes of push constants the device has.
Patched patch(const Module& module, const Kernel& kernel, uint32_t push_limit);

}  // namespace kymo::device::vulkan::spirv
