#include "device/vulkan/spirv_exact.h"

#include <algorithm>
#include <unordered_set>

#include "device/vulkan/spirv_edit.h"

namespace kymo::device::vulkan::spirv {
namespace {

bool computes_floats(Op op) {
  return op == Op::FNegate || op == Op::FAdd || op == Op::FSub || op == Op::FMul || op == Op::FDiv || op == Op::FRem ||
         op == Op::FMod || (op >= Op::ConvertFToU && op <= Op::ConvertUToF) ||
         (op >= Op::VectorTimesScalar && op <= Op::Dot);
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

std::vector<uint32_t> with_special_numbers(const Module& module, const FloatWidths& widths) {
  std::vector<uint32_t> present;
  for (const Instruction& instruction : module.instructions())
    if (instruction.op == Op::TypeFloat && std::ranges::find(widths, instruction.at(2)) != widths.end())
      present.push_back(instruction.at(2));
  const auto& capabilities = module.capabilities();
  const bool is_set = std::ranges::find(capabilities, kSignedZeroInfNanPreserveCapability) != capabilities.end();
  std::vector<uint32_t> words(module.words().begin(), module.words().end());
  if (present.empty() || is_set || module.version() < kVersion1_4) return words;
  words.resize(kHeaderWords);
  emit(words, Op::Capability, {kSignedZeroInfNanPreserveCapability});
  bool is_done = false;
  for (const Instruction& instruction : module.instructions()) {
    const bool is_mode = instruction.op == Op::ExecutionMode || instruction.op == Op::ExecutionModeId;
    if (is_mode && !is_done) {
      for (const EntryPoint& entry : module.entry_points())
        for (const uint32_t width : present)
          emit(words, Op::ExecutionMode, {entry.function, kSignedZeroInfNanPreserve, width});
      is_done = true;
    }
    words.insert(words.end(), instruction.words.begin(), instruction.words.end());
  }
  return words;
}

}  // namespace kymo::device::vulkan::spirv
