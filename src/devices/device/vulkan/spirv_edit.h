// Adds to a SPIR-V module: new ids, instructions for its sections, and types that are declared once.
#pragma once

#include <initializer_list>
#include <span>
#include <unordered_set>
#include <vector>

#include "device/vulkan/spirv_module.h"

namespace kymo::device::vulkan::spirv {

inline uint32_t word(StorageClass storage) { return static_cast<uint32_t>(storage); }
inline uint32_t word(Decoration decoration) { return static_cast<uint32_t>(decoration); }
inline uint32_t word(BuiltIn built_in) { return static_cast<uint32_t>(built_in); }

// Appends an instruction.
void emit(std::vector<uint32_t>& to, Op op, std::initializer_list<uint32_t> operands);
void emit(std::vector<uint32_t>& to, Op op, std::span<const uint32_t> operands);

class Edit {
 public:
  explicit Edit(const Module& module) : module_(module), next_(module.bound()) {}

  uint32_t fresh();  // an id
  uint32_t bound() const { return next_; }

  // A type that SPIR-V allows only once: the module's own one with its id, or a new one. In both cases it is declared
  // at the front, before everything that may need it. So it may be built only from such types.
  uint32_t hoist(Op op, std::initializer_list<uint32_t> operands);
  bool moved(uint32_t id) const { return moved_.contains(id); }  // it is no longer at its old position

  std::vector<uint32_t> decorations, types, variables;  // new instructions for these sections

 private:
  const Module& module_;
  uint32_t next_;
  std::unordered_set<uint32_t> moved_;
};

}  // namespace kymo::device::vulkan::spirv
