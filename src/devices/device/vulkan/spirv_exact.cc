#include "device/vulkan/spirv_exact.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

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

namespace {

constexpr uint32_t kAxes = 3;
constexpr uint32_t kPositionBits = 16;  // of a group in one dispatch
constexpr uint32_t kFloatBits = 32;

struct Range {
  size_t begin = 0, end = 0;
};

// The operands that are values and may carry a zero to an operation on floats.
Range value_operands(const Instruction& instruction) {
  const auto up_to = [&](size_t begin, size_t end) { return Range{begin, std::min(end, instruction.size())}; };
  switch (instruction.op) {
    case Op::Store:
      return up_to(2, 3);
    case Op::ReturnValue:
      return up_to(1, 2);
    case Op::FNegate:
    case Op::CopyObject:
      return up_to(3, 4);
    case Op::FAdd:
    case Op::FSub:
    case Op::FMul:
    case Op::FDiv:
    case Op::FRem:
    case Op::FMod:
    case Op::CompositeInsert:
    case Op::VectorShuffle:
      return up_to(3, 5);
    case Op::Select:
    case Op::VectorInsertDynamic:
      return up_to(3, 6);
    case Op::CompositeConstruct:
    case Op::Phi:
      return up_to(3, instruction.size());
    case Op::FunctionCall:
      return up_to(4, instruction.size());
    case Op::ExtInst:
      return up_to(5, instruction.size());
    default:
      return instruction.op >= Op::VectorTimesScalar && instruction.op <= Op::Dot ? up_to(3, 5) : Range{};
  }
}

bool converts_integers(Op op) { return op == Op::ConvertSToF || op == Op::ConvertUToF; }

bool stays_first(Op op) { return op == Op::Variable || op == Op::Line || op == Op::NoLine; }

class ZeroHider : private Edit {
 public:
  explicit ZeroHider(const Module& module) : Edit(module), module_(module) {}

  std::vector<uint32_t> run() {
    find_zeros();
    declare();
    write();
    words_[3] = bound();
    return std::move(words_);
  }

 private:
  const Instruction* type_of(uint32_t id) const {
    const Instruction* type = module_.find(id);
    return type != nullptr && type->op >= Op::TypeVoid && type->op <= Op::TypePipe ? type : nullptr;
  }
  bool is_float(uint32_t type) const {
    const Instruction* found = type_of(type);
    return found != nullptr && found->op == Op::TypeFloat;
  }
  bool is_float_vector(uint32_t type) const {
    const Instruction* found = type_of(type);
    return found != nullptr && found->op == Op::TypeVector && is_float(found->at(2));
  }

  void find_zeros() {
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.op == Op::Function) break;
      if (instruction.op == Op::Variable && instruction.at(3) == word(StorageClass::Input) &&
          module_.decorations(instruction.at(2)).built_in == word(BuiltIn::WorkgroupId))
        position_ = instruction.at(2);
      if (is_zero(instruction)) zeros_.insert(instruction.at(2));
    }
  }

  bool is_zero(const Instruction& constant) const {
    switch (constant.op) {
      case Op::Constant:
        return is_float(constant.at(1)) &&
               std::ranges::all_of(constant.words.subspan(3), [](uint32_t literal) { return literal == 0; });
      case Op::ConstantNull:
        return is_float(constant.at(1)) || is_float_vector(constant.at(1));
      case Op::ConstantComposite: {
        const auto parts = constant.words.subspan(3);
        const auto zero = [&](uint32_t part) { return zeros_.contains(part); };
        const Instruction* type = type_of(constant.at(1));
        const bool is_array = type != nullptr && type->op == Op::TypeArray;
        return is_array ? std::ranges::all_of(parts, zero) : std::ranges::any_of(parts, zero);
      }
      default:
        return false;
    }
  }

  void declare() {
    uint_ = hoist(Op::TypeInt, {32, 0});
    vector_ = hoist(Op::TypeVector, {uint_, kAxes});
    float_ = hoist(Op::TypeFloat, {kFloatBits});
    shift_ = fresh();
    emit(types, Op::Constant, {uint_, shift_, kPositionBits});
    if (position_ != 0) return;
    const uint32_t pointer = hoist(Op::TypePointer, {word(StorageClass::Input), vector_});
    position_ = new_position_ = fresh();
    emit(decorations, Op::Decorate, {position_, word(Decoration::BuiltIn), word(BuiltIn::WorkgroupId)});
    emit(types, Op::Variable, {pointer, position_, word(StorageClass::Input)});
  }

  void write() {
    words_.assign(module_.words().begin(), module_.words().begin() + kHeaderWords);
    const std::span<const Instruction> all = module_.instructions();
    bool has_decorations = false, has_types = false;
    for (size_t i = 0; i < all.size(); ++i) {
      const Instruction& instruction = all[i];
      if (instruction.op == Op::Function) return write_functions(all.subspan(i));
      if (!has_decorations && (instruction.op == Op::Decorate || instruction.op == Op::MemberDecorate)) {
        append(decorations);
        has_decorations = true;
      }
      const bool is_type = instruction.op >= Op::TypeVoid && instruction.op <= Op::TypeForwardPointer;
      if (is_type && !has_types) {
        append(types);
        has_types = true;
      }
      if (is_type && moved(instruction.at(1))) continue;
      if (instruction.op == Op::EntryPoint && new_position_ != 0) {
        std::vector<uint32_t> operands(instruction.words.begin() + 1, instruction.words.end());
        operands.push_back(new_position_);
        emit(words_, Op::EntryPoint, operands);
        continue;
      }
      append(instruction.words);
    }
  }

  void write_functions(std::span<const Instruction> rest) {
    while (!rest.empty()) {
      size_t end = 0;
      while (end < rest.size() && rest[end].op != Op::FunctionEnd) ++end;
      end = std::min(end + 1, rest.size());
      write_function(rest.first(end));
      rest = rest.subspan(end);
    }
  }

  // The new values are computed at the start of the function, after its variables. Only those that are used are.
  void write_function(std::span<const Instruction> function) {
    hidden_.clear();
    start_.clear();
    std::vector<uint32_t> body;
    std::swap(body, words_);
    const size_t label =
        static_cast<size_t>(std::ranges::find(function, Op::Label, &Instruction::op) - function.begin());
    size_t first = std::min(label + 1, function.size());
    while (first < function.size() && stays_first(function[first].op)) ++first;
    for (const Instruction& instruction : function.subspan(first)) write_instruction(instruction);
    std::swap(body, words_);
    for (const Instruction& instruction : function.first(first)) append(instruction.words);
    append(start_);
    append(body);
  }

  void write_instruction(const Instruction& instruction) {
    if (converts_integers(instruction.op)) {
      const uint32_t type = instruction.at(1), plain = fresh();
      if (const auto zero = zero_of(type)) {
        emit(words_, instruction.op, {type, plain, instruction.at(3)});
        emit(words_, Op::FAdd, {type, instruction.at(2), plain, *zero});
        return;
      }
    }
    append(instruction.words);
    const Range values = value_operands(instruction);
    const size_t begin = words_.size() - instruction.size();
    for (size_t i = values.begin; i < values.end; ++i)
      if (zeros_.contains(instruction.at(i))) words_[begin + i] = hidden(instruction.at(i));
  }

  // A zero of this type; empty: it is not a float or a vector of them.
  std::optional<uint32_t> zero_of(uint32_t type) {
    if (is_float(type)) return scalar_zero(type);
    if (!is_float_vector(type)) return std::nullopt;
    uint32_t& id = hidden_[type];
    if (id != 0) return id;
    const Instruction& vector = module_.definition(type);
    const uint32_t element = scalar_zero(vector.at(2)), whole = fresh();
    std::vector<uint32_t> operands{type, whole};
    operands.insert(operands.end(), std::min(vector.at(3), 16u), element);
    emit(start_, Op::CompositeConstruct, operands);
    return hidden_[type] = whole;
  }

  uint32_t scalar_zero(uint32_t type) {
    if (const auto found = hidden_.find(type); found != hidden_.end()) return found->second;
    uint32_t zero = 0;
    if (type == float_) {
      const uint32_t position = fresh(), x = fresh(), bits = fresh();
      zero = fresh();
      emit(start_, Op::Load, {vector_, position, position_});
      emit(start_, Op::CompositeExtract, {uint_, x, position, 0});
      emit(start_, Op::ShiftRightLogical, {uint_, bits, x, shift_});
      emit(start_, Op::Bitcast, {float_, zero, bits});
    } else {
      const uint32_t from = scalar_zero(float_);
      zero = fresh();
      emit(start_, Op::FConvert, {type, zero, from});
    }
    return hidden_[type] = zero;
  }

  // What replaces a constant in this function. Ids of types and constants differ, so they share a map.
  uint32_t hidden(uint32_t constant) {
    if (const auto found = hidden_.find(constant); found != hidden_.end()) return found->second;
    const Instruction& definition = module_.definition(constant);
    if (definition.op != Op::ConstantComposite) return hidden_[constant] = *zero_of(definition.at(1));
    std::vector<uint32_t> operands{definition.at(1), 0};
    for (const uint32_t part : definition.words.subspan(3))
      operands.push_back(zeros_.contains(part) ? hidden(part) : part);
    const uint32_t whole = operands[1] = fresh();
    emit(start_, Op::CompositeConstruct, operands);
    return hidden_[constant] = whole;
  }

  void append(std::span<const uint32_t> words) { words_.insert(words_.end(), words.begin(), words.end()); }

  const Module& module_;
  std::unordered_set<uint32_t> zeros_;  // constants
  uint32_t uint_ = 0, vector_ = 0, float_ = 0, shift_ = 0, position_ = 0, new_position_ = 0;
  std::unordered_map<uint32_t, uint32_t> hidden_;  // of the function: by type or constant
  std::vector<uint32_t> start_, words_;
};

}  // namespace

std::vector<uint32_t> hide_zeros(const Module& module) { return ZeroHider(module).run(); }

}  // namespace kymo::device::vulkan::spirv
