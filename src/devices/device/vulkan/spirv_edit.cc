#include "device/vulkan/spirv_edit.h"

#include <algorithm>

namespace kymo::device::vulkan::spirv {

void emit(std::vector<uint32_t>& to, Op op, std::initializer_list<uint32_t> operands) {
  emit(to, op, std::span(operands.begin(), operands.size()));
}

void emit(std::vector<uint32_t>& to, Op op, std::span<const uint32_t> operands) {
  if (operands.size() >= 0xFFFF) refuse("an instruction becomes too long");
  to.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
  to.insert(to.end(), operands.begin(), operands.end());
}

uint32_t Edit::fresh() {
  if (next_ >= kLargestBound) refuse("it has no ids left");
  return next_++;
}

uint32_t Edit::hoist(Op op, std::initializer_list<uint32_t> operands) {
  uint32_t id = 0;
  for (const Instruction& instruction : module_.instructions()) {
    if (instruction.op == Op::Function) break;
    if (instruction.op != op || !std::ranges::equal(instruction.words.subspan(2), operands)) continue;
    id = instruction.at(1);
    moved_.insert(id);
    break;
  }
  if (id == 0) id = fresh();
  std::vector<uint32_t> all{id};
  all.insert(all.end(), operands);
  emit(types, op, all);
  return id;
}

}  // namespace kymo::device::vulkan::spirv
