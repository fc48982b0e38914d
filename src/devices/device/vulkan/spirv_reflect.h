// The parameters and requirements of a kernel in SPIR-V.
//
// Parameters come in the order in which a caller passes them: the buffers of its descriptors by set and binding, then
// the members of its push constants by offset. A member that is a PhysicalStorageBuffer pointer (GLSL's
// buffer_reference) takes a tensor, like a descriptor; all other members take a value. A kernel that is alone in its
// module or text has everything that is declared, used or not. If there are several kernels, each has only the
// descriptors and push constants that it uses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/vulkan/spirv_module.h"
#include "kymo/dtype.h"

namespace kymo::device::vulkan::spirv {

// Sizes and element types of a module's types in memory. Throws CompileError for types that have no layout.

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

struct Binding {
  uint32_t set = 0, binding = 0;
  bool uniform = false;  // a uniform buffer; else a storage buffer
  Parameter parameter;
};

struct PushMember {
  uint32_t offset = 0;
  Parameter parameter;  // for a Buffer, `bytes` is the size of an address
};

struct Kernel {
  std::string name;                 // of the entry point
  uint32_t entry_point = 0;         // index into Module::entry_points()
  std::vector<Binding> bindings;    // by set and binding
  std::vector<PushMember> members;  // by offset
  uint32_t push_variable = 0;       // its id; 0: no push constants
  uint32_t push_bytes = 0;
  uint64_t group_memory = 0;
  Extent group{1, 1, 1};
  bool any_group = true;        // false: it was written for the size `group`
  bool groups_visible = false;  // it can see how its threads are grouped: it reads it, shares memory or synchronises
};

// `several`: the module is one of several from one text. Throws CompileError for features that are not supported in
// kernels: images, samplers, arrays of descriptors.
std::vector<Kernel> reflect(const Module& module, bool several = false);

// The members of the structure that the only push constant points to, by offset. Empty: the push constants are not one
// pointer. A translated kernel takes more arguments than fit into push constants in such a structure.
std::vector<PushMember> block_members(const Module& module, const Kernel& kernel);

}  // namespace kymo::device::vulkan::spirv
