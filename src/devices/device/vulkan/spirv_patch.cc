#include "device/vulkan/spirv_patch.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "device/vulkan/spirv_module.h"

namespace kymo::device::vulkan::spirv {
namespace {

constexpr uint32_t kAxes = 3;

// One of the three built-in values, and the variables of the module that hold it.
struct BuiltInValue {
  BuiltIn built_in;
  std::vector<uint32_t> variables;
  uint32_t raw = 0;  // the new variable, with the value of the dispatch
};

class Patcher : private Edit {
 public:
  Patcher(const Module& module, const Kernel& kernel, uint32_t push_limit)
      : Edit(module), module_(module), kernel_(kernel), entry_(module.entry_points()[kernel.entry_point]) {
    find_variables();
    find_group_size();
    place_tail(push_limit);
    declare();
  }

  Patched run() {
    write();
    out_.words[3] = bound();
    return std::move(out_);
  }

 private:
  bool global(const Instruction& instruction) const {
    const Op op = instruction.op;
    return (op >= Op::TypeVoid && op <= Op::TypeForwardPointer) ||
           (op >= Op::ConstantTrue && op <= Op::SpecConstantOp) || op == Op::Variable || op == Op::Undef ||
           op == Op::Line || op == Op::NoLine || op == Op::Function;
  }

  static bool belongs_before(Op op) {
    return op == Op::EntryPoint || op == Op::ExecutionMode || op == Op::ExecutionModeId || op == Op::Decorate ||
           op == Op::MemberDecorate;
  }

  void find_variables() {
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.op == Op::Function) break;
      if (instruction.op != Op::Variable || instruction.at(3) != word(StorageClass::Input)) continue;
      const uint32_t id = instruction.at(2);
      for (BuiltInValue& given : given_) {
        if (module_.decorations(id).built_in != word(given.built_in)) continue;
        check_type(instruction);
        given.variables.push_back(id);
        replaced_.insert(id);
      }
    }
    out_.offset = !given_[0].variables.empty();
    out_.base = !given_[1].variables.empty();
    out_.groups = !given_[2].variables.empty();
    out_.tail_words = kAxes * (out_.offset + out_.base + out_.groups);
  }

  void check_type(const Instruction& variable) const {
    const Instruction& pointer = module_.definition(variable.at(1));
    const Instruction& vector = module_.definition(pointer.at(3));
    if (vector.op == Op::TypeVector && vector.at(3) == kAxes) {
      const Instruction& scalar = module_.definition(vector.at(2));
      if (scalar.op == Op::TypeInt && scalar.at(2) == 32 && scalar.at(3) == 0) return;
    }
    refuse(base::format("the kernel {} declares a built-in for its position in the grid with another type than uvec3",
                        kernel_.name));
  }

  // A size that can be specialised is created again in its place; a size of literals stays an ordinary constant.
  void find_group_size() {
    uint32_t highest = 0;
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.op == Op::Function) break;
      if (instruction.op == Op::Decorate && instruction.at(2) == word(Decoration::SpecId))
        highest = std::max(highest, instruction.at(3));
      const bool special = instruction.op == Op::SpecConstantComposite;
      if (!special && instruction.op != Op::ConstantComposite) continue;
      const uint32_t id = instruction.at(2);
      if (module_.decorations(id).built_in != word(BuiltIn::WorkgroupSize)) continue;
      literal_size_ = special ? literal_size_ : id;
      if (special) group_size_ = id;
      for (uint32_t axis = 0; axis < kAxes; ++axis) own_size(axis, instruction.at(3 + axis));
    }
    if (entry_.local_size_ids)
      for (uint32_t axis = 0; axis < kAxes; ++axis) own_size(axis, (*entry_.local_size_ids)[axis]);
    if (highest > 0xFFFFFF00) refuse("the ids of its specialization constants are too high");
    spec_ = highest + 1;
  }

  void own_size(uint32_t axis, uint32_t constant) {
    if (module_.definition(constant).op == Op::SpecConstant)
      out_.own_size_constants[axis] = module_.decorations(constant).spec_id;
  }

  void place_tail(uint32_t push_limit) {
    out_.tail_offset = (kernel_.push_bytes + 3) / 4 * 4;
    if (out_.tail_offset + out_.tail_words * 4 > push_limit)
      refuse(
          base::format("the kernel {} has {} bytes of push constants, and its position in the grid takes {} more; the "
                       "max on this device is {}: put some into a buffer",
                       kernel_.name, kernel_.push_bytes, out_.tail_words * 4, push_limit));
    if (out_.tail_words == 0 || kernel_.push_variable == 0) return;
    push_structure_ = module_.definition(module_.definition(kernel_.push_variable).at(1)).at(3);
    first_member_ = static_cast<uint32_t>(module_.definition(push_structure_).size() - 2);
  }

  uint32_t spec_constant(uint32_t value) {
    const uint32_t id = fresh();
    emit(types, Op::SpecConstant, {uint_, id, value});
    emit(decorations, Op::Decorate, {id, word(Decoration::SpecId), spec_++});
    return id;
  }

  void declare() {
    void_ = hoist(Op::TypeVoid, {});
    uint_ = hoist(Op::TypeInt, {32, 0});
    vector_ = hoist(Op::TypeVector, {uint_, kAxes});
    entry_type_ = hoist(Op::TypeFunction, {void_});
    const Instruction& function = module_.definition(entry_.function);
    if (function.op != Op::Function || function.at(1) != void_ || function.at(4) != entry_type_)
      refuse(base::format("the entry point {} is not a function without parameters and result", entry_.name));
    wrapper_ = fresh();

    for (uint32_t axis = 0; axis < kAxes; ++axis) {
      out_.size_constants[axis] = spec_;
      size_parts_[axis] = spec_constant(1);
    }
    if (group_size_ == 0) {
      group_size_ = fresh();
      emit(decorations, Op::Decorate, {group_size_, word(Decoration::BuiltIn), word(BuiltIn::WorkgroupSize)});
      emit(types, Op::SpecConstantComposite, {vector_, group_size_, size_parts_[0], size_parts_[1], size_parts_[2]});
    }
    if (out_.tail_words == 0) return;

    private_vector_ = hoist(Op::TypePointer, {word(StorageClass::Private), vector_});
    private_uint_ = hoist(Op::TypePointer, {word(StorageClass::Private), uint_});
    const uint32_t input_vector = hoist(Op::TypePointer, {word(StorageClass::Input), vector_});
    for (BuiltInValue& given : given_) {
      if (given.variables.empty() || given.built_in == BuiltIn::NumWorkgroups) continue;
      given.raw = fresh();
      emit(decorations, Op::Decorate, {given.raw, word(Decoration::BuiltIn), word(given.built_in)});
      emit(variables, Op::Variable, {input_vector, given.raw, word(StorageClass::Input)});
      interface_.push_back(given.raw);
    }
    declare_pushed();
  }

  void declare_pushed() {
    push_uint_ = hoist(Op::TypePointer, {word(StorageClass::PushConstant), uint_});
    push_variable_ = kernel_.push_variable;
    if (push_variable_ == 0) {
      push_structure_ = fresh();
      const uint32_t pointer = fresh();
      push_variable_ = fresh();
      std::vector<uint32_t> members(out_.tail_words + 1, uint_);
      members[0] = push_structure_;
      emit(types, Op::TypeStruct, members);
      emit(types, Op::TypePointer, {pointer, word(StorageClass::PushConstant), push_structure_});
      emit(decorations, Op::Decorate, {push_structure_, word(Decoration::Block)});
      emit(variables, Op::Variable, {pointer, push_variable_, word(StorageClass::PushConstant)});
      if (module_.version() >= kVersion1_4) interface_.push_back(push_variable_);
    }
    for (uint32_t i = 0; i < out_.tail_words; ++i) {
      const uint32_t index = fresh();
      emit(types, Op::Constant, {uint_, index, first_member_ + i});
      emit(decorations, Op::MemberDecorate,
           {push_structure_, first_member_ + i, word(Decoration::Offset), out_.tail_offset + i * 4});
      tail_.push_back(index);
    }
  }

  void write() {
    std::vector<uint32_t>& words = out_.words;
    words.assign(module_.words().begin(), module_.words().begin() + kHeaderWords);
    bool in_globals = false, in_functions = false;
    for (const Instruction& instruction : module_.instructions()) {
      if (modes_pending_ && instruction.op != Op::EntryPoint) {
        // Only a formality: the constant with the group size overrides this mode.
        emit(words, Op::ExecutionMode, {wrapper_, kLocalSize, 1, 1, 1});
        modes_pending_ = false;
      }
      if (!in_globals && global(instruction)) {
        words.insert(words.end(), decorations.begin(), decorations.end());
        words.insert(words.end(), types.begin(), types.end());
        in_globals = true;
      }
      if (!in_functions && instruction.op == Op::Function) {
        words.insert(words.end(), variables.begin(), variables.end());
        in_functions = true;
      }
      if (in_globals && belongs_before(instruction.op)) refuse("its sections are out of order");
      if (in_functions)
        write_body(instruction);
      else if (in_globals)
        write_global(instruction);
      else
        write_preamble(instruction);
    }
    if (!in_functions) refuse("it has no functions");
    write_wrapper();
  }

  void copy(const Instruction& instruction) {
    out_.words.insert(out_.words.end(), instruction.words.begin(), instruction.words.end());
  }

  void write_preamble(const Instruction& instruction) {
    std::vector<uint32_t>& words = out_.words;
    switch (instruction.op) {
      case Op::EntryPoint:
        if (instruction.words.data() == entry_instruction().words.data()) write_entry_point();
        return;
      case Op::ExecutionMode:
      case Op::ExecutionModeId: {
        const uint32_t mode = instruction.at(2);
        if (instruction.at(1) != entry_.function || mode == kLocalSize || mode == kLocalSizeId) return;
        copy(instruction);
        words[words.size() - instruction.size() + 1] = wrapper_;
        return;
      }
      case Op::Decorate: {
        const uint32_t id = instruction.at(1);
        const auto decoration = static_cast<Decoration>(instruction.at(2));
        if (decoration == Decoration::BuiltIn && (replaced_.contains(id) || id == literal_size_)) return;
        copy(instruction);
        const bool numbers = decoration == Decoration::Binding || decoration == Decoration::DescriptorSet;
        if (const auto index = numbers ? binding_index(id) : std::nullopt)
          words[words.size() - instruction.size() + 3] = decoration == Decoration::Binding ? *index : 0;
        return;
      }
      default:
        copy(instruction);
    }
  }

  const Instruction& entry_instruction() const {
    uint32_t index = 0;
    for (const Instruction& instruction : module_.instructions())
      if (instruction.op == Op::EntryPoint && instruction.at(1) == kGlCompute && index++ == kernel_.entry_point)
        return instruction;
    refuse("its entry point is not found");
  }

  void write_entry_point() {
    std::vector<uint32_t> operands{kGlCompute, wrapper_, 0x6E69616D, 0};  // "main" and the terminating zero
    for (const uint32_t id : entry_.interface)
      if (module_.version() >= kVersion1_4 || !replaced_.contains(id)) operands.push_back(id);
    operands.insert(operands.end(), interface_.begin(), interface_.end());
    emit(out_.words, Op::EntryPoint, operands);
    modes_pending_ = true;
  }

  std::optional<uint32_t> binding_index(uint32_t id) const {
    const Instruction* variable = module_.find(id);
    if (variable == nullptr || variable->op != Op::Variable) return std::nullopt;
    const Decorations& own = module_.decorations(id);
    for (uint32_t i = 0; i < kernel_.bindings.size(); ++i)
      if (kernel_.bindings[i].set == own.set.value_or(0) && kernel_.bindings[i].binding == own.binding.value_or(0))
        return i;
    return std::nullopt;
  }

  void write_global(const Instruction& instruction) {
    std::vector<uint32_t>& words = out_.words;
    if (instruction.op >= Op::TypeVoid && instruction.op <= Op::TypePipe && moved(instruction.at(1))) return;
    if (instruction.op == Op::TypeStruct && push_structure_ != 0 && instruction.at(1) == push_structure_) {
      std::vector<uint32_t> operands(instruction.words.begin() + 1, instruction.words.end());
      operands.insert(operands.end(), out_.tail_words, uint_);
      emit(words, Op::TypeStruct, operands);
      return;
    }
    if (push_structure_ != 0 && kernel_.push_variable != 0 && mentions_push_structure(instruction))
      refuse(base::format("the push constants of the kernel {} are part of another type", kernel_.name));
    if (instruction.op == Op::SpecConstantComposite && instruction.at(2) == group_size_) {
      emit(words, Op::SpecConstantComposite, {vector_, group_size_, size_parts_[0], size_parts_[1], size_parts_[2]});
      return;
    }
    if (instruction.op == Op::Variable && replaced_.contains(instruction.at(2))) {
      emit(words, Op::Variable, {private_vector_, instruction.at(2), word(StorageClass::Private)});
      return;
    }
    copy(instruction);
  }

  bool mentions_push_structure(const Instruction& instruction) const {
    switch (instruction.op) {
      case Op::TypeArray:
      case Op::TypeRuntimeArray:
        return instruction.at(2) == push_structure_;
      case Op::TypePointer:
        return instruction.at(3) == push_structure_ && instruction.at(2) != word(StorageClass::PushConstant);
      case Op::TypeStruct:
      case Op::TypeFunction:
        return std::ranges::find(instruction.words.subspan(2), push_structure_) != instruction.words.end();
      default:
        return false;
    }
  }

  void write_body(const Instruction& instruction) {
    copy(instruction);
    switch (instruction.op) {
      case Op::AccessChain:
      case Op::InBoundsAccessChain:
        if (replaced_.contains(instruction.at(3)))
          out_.words[out_.words.size() - instruction.size() + 1] = private_uint_;
        break;
      case Op::FunctionCall:
      case Op::CopyObject:
      case Op::CopyMemory:
        for (const uint32_t id : instruction.words.subspan(1))
          if (replaced_.contains(id))
            refuse(base::format("the kernel {} passes a built-in variable by its address", kernel_.name));
        break;
      case Op::Load:
        if (push_structure_ != 0 && kernel_.push_variable != 0 && instruction.at(1) == push_structure_)
          refuse(base::format("the kernel {} reads its push constants as a whole: read single members", kernel_.name));
        break;
      default:
        break;
    }
  }

  // The three words of one value, as a vector.
  uint32_t tail_vector(uint32_t first) {
    std::array<uint32_t, kAxes> parts{};
    for (uint32_t axis = 0; axis < kAxes; ++axis) {
      const uint32_t pointer = fresh();
      emit(out_.words, Op::AccessChain, {push_uint_, pointer, push_variable_, tail_[first + axis]});
      parts[axis] = fresh();
      emit(out_.words, Op::Load, {uint_, parts[axis], pointer});
    }
    const uint32_t whole = fresh();
    emit(out_.words, Op::CompositeConstruct, {vector_, whole, parts[0], parts[1], parts[2]});
    return whole;
  }

  void write_wrapper() {
    std::vector<uint32_t>& words = out_.words;
    emit(words, Op::Function, {void_, wrapper_, 0, entry_type_});
    emit(words, Op::Label, {fresh()});
    uint32_t next_word = 0;
    for (const BuiltInValue& given : given_) {
      if (given.variables.empty()) continue;
      uint32_t value = tail_vector(next_word);
      next_word += kAxes;
      if (given.raw != 0) {
        const uint32_t own = fresh(), sum = fresh();
        emit(words, Op::Load, {vector_, own, given.raw});
        emit(words, Op::IAdd, {vector_, sum, own, value});
        value = sum;
      }
      for (const uint32_t variable : given.variables) emit(words, Op::Store, {variable, value});
    }
    emit(words, Op::FunctionCall, {void_, fresh(), entry_.function});
    emit(words, Op::Return, std::span<const uint32_t>());
    emit(words, Op::FunctionEnd, std::span<const uint32_t>());
  }

  const Module& module_;
  const Kernel& kernel_;
  const EntryPoint& entry_;
  Patched out_;

  std::array<BuiltInValue, 3> given_{BuiltInValue{BuiltIn::GlobalInvocationId, {}, 0},
                                     BuiltInValue{BuiltIn::WorkgroupId, {}, 0},
                                     BuiltInValue{BuiltIn::NumWorkgroups, {}, 0}};
  std::unordered_set<uint32_t> replaced_;
  uint32_t group_size_ = 0, literal_size_ = 0, spec_ = 0;
  bool modes_pending_ = false;
  std::array<uint32_t, kAxes> size_parts_{};
  uint32_t push_structure_ = 0, push_variable_ = 0, first_member_ = 0;
  uint32_t void_ = 0, uint_ = 0, vector_ = 0, entry_type_ = 0, wrapper_ = 0;
  uint32_t private_vector_ = 0, private_uint_ = 0, push_uint_ = 0;
  std::vector<uint32_t> tail_;  // constants: indices of members
  std::vector<uint32_t> interface_;
};

}  // namespace

Patched patch(const Module& module, const Kernel& kernel, uint32_t push_limit) {
  return Patcher(module, kernel, push_limit).run();
}

}  // namespace kymo::device::vulkan::spirv
