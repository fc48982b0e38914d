#include "device/vulkan/spirv_exact.h"

#include <unordered_set>

#include "device/vulkan/spirv_edit.h"

namespace kymo::device::vulkan::spirv {
namespace {

bool computes_floats(Op op) {
  return op == Op::FNegate || op == Op::FAdd || op == Op::FSub || op == Op::FMul || op == Op::FDiv || op == Op::FRem ||
         op == Op::FMod || (op >= Op::VectorTimesScalar && op <= Op::Dot);
}

// Instructions that come only after the decorations.
bool ends_decorations(Op op) {
  return (op >= Op::TypeVoid && op <= Op::TypeForwardPointer) || op == Op::Line || op == Op::NoLine ||
         op == Op::Function;
}

}  // namespace

std::vector<uint32_t> without_contraction(const Module& module) {
  std::unordered_set<uint32_t> marked;
  std::vector<uint32_t> marks;
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.op == Op::Decorate && instruction.at(2) == word(Decoration::NoContraction))
      marked.insert(instruction.at(1));
    if (computes_floats(instruction.op) && marked.insert(instruction.at(2)).second)
      emit(marks, Op::Decorate, {instruction.at(2), word(Decoration::NoContraction)});
  }
  std::vector<uint32_t> words(module.words().begin(), module.words().begin() + kHeaderWords);
  bool is_done = false;
  for (const Instruction& instruction : module.instructions()) {
    if (!is_done && ends_decorations(instruction.op)) {
      words.insert(words.end(), marks.begin(), marks.end());
      is_done = true;
    }
    words.insert(words.end(), instruction.words.begin(), instruction.words.end());
  }
  return words;
}

}  // namespace kymo::device::vulkan::spirv
