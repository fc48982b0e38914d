// Sizes and element types of a module's types in memory. Throws CompileError for types that have no layout.
#pragma once

#include <optional>

#include "device/vulkan/spirv_module.h"
#include "kymo/dtype.h"

namespace kymo::device::vulkan::spirv {

// The value of an integer constant; for a specialization constant its default. Empty: it is not known at this time.
std::optional<uint32_t> constant_value(const Module& module, uint32_t id);

// The element type and the number of elements that follow each other without gaps, if the type is a scalar, a vector,
// or an array or matrix of these. `decorations` are those of the member with this type.
struct Elements {
  DType type{};
  uint32_t count = 1;
};
std::optional<Elements> elements_of(const Module& module, uint32_t type, const Decorations& decorations);

// The size of a value of this type in bytes; 0 for types that end in a runtime array. Structures and arrays use the
// layout of their decorations. Without decorations (group memory) the parts follow each other, aligned to their
// scalars.
uint64_t bytes_of(const Module& module, uint32_t type, const Decorations& decorations);

// The element type of a buffer block or a pointee, if all of it has one scalar type.
std::optional<DType> pointee_type(const Module& module, uint32_t structure);

}  // namespace kymo::device::vulkan::spirv
