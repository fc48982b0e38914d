// Sizes and element types of a module's types, as they lie in memory. Throws CompileError on what cannot be laid out.
#pragma once

#include <optional>

#include "device/vulkan/spirv_module.h"
#include "kymo/dtype.h"

namespace kymo::device::vulkan::spirv {

// The value of an integer constant; of one that is specialised, its default. Nothing: it is not known before then.
std::optional<uint32_t> constant_value(const Module& module, uint32_t id);

// The type and how many of it follow each other without gaps, where it is a scalar, a vector, or an array or a matrix
// of these. `decorations` are those of the member that has this type.
struct Elements {
  DType type{};
  uint32_t count = 1;
};
std::optional<Elements> elements_of(const Module& module, uint32_t type, const Decorations& decorations);

// The bytes a value of this type spans; 0 for what ends in a runtime array. Structures and arrays are laid out as their
// decorations say, and without decorations (group memory) one after the other, aligned to their scalars.
uint64_t bytes_of(const Module& module, uint32_t type, const Decorations& decorations);

// The elements of what a buffer block or a pointer leads to, where all of it is one scalar type.
std::optional<DType> pointee_type(const Module& module, uint32_t structure);

}  // namespace kymo::device::vulkan::spirv
