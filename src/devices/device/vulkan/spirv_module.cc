#include "device/vulkan/spirv_module.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::vulkan::spirv {
namespace {

// A literal string and the index of the word after it.
std::pair<std::string, size_t> literal_string(const Instruction& instruction, size_t from) {
  std::string text;
  for (size_t i = from;; ++i) {
    const uint32_t word = instruction.at(i);
    for (int byte = 0; byte < 4; ++byte) {
      const char character = static_cast<char>(word >> (8 * byte));
      if (character == '\0') return {std::move(text), i + 1};
      text += character;
    }
  }
}

uint64_t member_key(uint32_t structure, uint32_t member) { return uint64_t{structure} << 32 | member; }

// Which word holds the id that an instruction of the global part defines; 0: none.
size_t result_word(Op op) {
  if (op >= Op::TypeVoid && op <= Op::TypePipe) return 1;
  if (op >= Op::ConstantTrue && op <= Op::SpecConstantOp) return 2;
  if (op == Op::Variable || op == Op::Function || op == Op::Undef) return 2;
  return 0;
}

// The decorations with a value that are looked up.
constexpr std::pair<Decoration, std::optional<uint32_t> Decorations::*> kValues[] = {
    {Decoration::SpecId, &Decorations::spec_id},
    {Decoration::ArrayStride, &Decorations::array_stride},
    {Decoration::MatrixStride, &Decorations::matrix_stride},
    {Decoration::BuiltIn, &Decorations::built_in},
    {Decoration::Binding, &Decorations::binding},
    {Decoration::DescriptorSet, &Decorations::set},
    {Decoration::Offset, &Decorations::offset},
};

void set(Decorations& to, const Instruction& instruction, size_t at) {
  const auto decoration = static_cast<Decoration>(instruction.at(at));
  if (decoration == Decoration::BufferBlock) to.buffer_block = true;
  for (const auto& [known, value] : kValues)
    if (known == decoration) to.*value = instruction.at(at + 1);
}

}  // namespace

void refuse(const std::string& why) {
  const std::string message = "SPIR-V: " + why;
  throw CompileError(message, "", 0, 0, message);
}

void Instruction::too_short() const {
  refuse(base::format("an instruction {} has only {} words", static_cast<int>(op), words.size()));
}

std::vector<uint32_t> Module::words_of(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % sizeof(uint32_t) != 0)
    refuse(base::format("{} bytes are not whole words of 4", bytes.size()));
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (words[0] == kSwappedMagic)
    for (uint32_t& word : words) word = __builtin_bswap32(word);
  return words;
}

Module::Module(std::vector<uint32_t> words) : words_(std::move(words)) {
  if (words_.size() < kHeaderWords) refuse("it is shorter than its header");
  if (words_[0] != kMagic) refuse(base::format("it begins with {:#010x}, not {:#010x}", words_[0], kMagic));
  if (bound() == 0 || bound() > kLargestBound)
    refuse(base::format("its bound of ids is {}; 1 to {} is allowed", bound(), kLargestBound));
  definitions_.resize(bound());

  for (size_t at = kHeaderWords; at < words_.size();) {
    const uint32_t count = words_[at] >> 16;
    if (count == 0 || count > words_.size() - at)
      refuse(base::format("the instruction at word {} has a length of {}, {} words are left", at, count,
                          words_.size() - at));
    instructions_.push_back({static_cast<Op>(words_[at] & 0xFFFF), std::span(words_).subspan(at, count)});
    at += count;
  }
  for (const Instruction& instruction : instructions_) index(instruction);
  // An execution mode names a function, and may come before a later entry point of this function.
  for (const Instruction& instruction : instructions_)
    if (instruction.op == Op::ExecutionMode || instruction.op == Op::ExecutionModeId) set_mode(instruction);
}

void Module::index(const Instruction& instruction) {
  if (const size_t word = result_word(instruction.op); word != 0) {
    const uint32_t id = instruction.at(word);
    // Function-local variables are never looked up, but their ids must not be used twice either.
    if (id >= bound()) refuse(base::format("the id {} is beyond its bound of {}", id, bound()));
    if (definitions_[id] != 0) refuse(base::format("the id {} is defined twice", id));
    definitions_[id] = static_cast<uint32_t>(&instruction - instructions_.data()) + 1;
    return;
  }
  switch (instruction.op) {
    case Op::Capability:
      capabilities_.push_back(instruction.at(1));
      break;
    case Op::EntryPoint:
      add_entry_point(instruction);
      break;
    case Op::Name:
      names_[instruction.at(1)] = literal_string(instruction, 2).first;
      break;
    case Op::MemberName:
      member_names_[member_key(instruction.at(1), instruction.at(2))] = literal_string(instruction, 3).first;
      break;
    case Op::Decorate:
      set(decorations_[instruction.at(1)], instruction, 2);
      break;
    case Op::MemberDecorate:
      set(member_decorations_[member_key(instruction.at(1), instruction.at(2))], instruction, 3);
      break;
    case Op::DecorationGroup:
      refuse("it uses decoration groups, which are deprecated: `spirv-opt --flatten-decorations` removes them");
    default:
      break;
  }
}

void Module::add_entry_point(const Instruction& instruction) {
  if (instruction.at(1) != kGlCompute) return;
  EntryPoint entry;
  entry.function = instruction.at(2);
  size_t next = 0;
  std::tie(entry.name, next) = literal_string(instruction, 3);
  entry.interface.assign(instruction.words.begin() + static_cast<ptrdiff_t>(next), instruction.words.end());
  entry_points_.push_back(std::move(entry));
}

void Module::set_mode(const Instruction& instruction) {
  const uint32_t mode = instruction.at(2);
  if (mode != kLocalSize && mode != kLocalSizeId) return;
  const std::array<uint32_t, 3> sizes{instruction.at(3), instruction.at(4), instruction.at(5)};
  for (EntryPoint& entry : entry_points_) {
    if (entry.function != instruction.at(1)) continue;
    if (mode == kLocalSize)
      entry.local_size = sizes;
    else
      entry.local_size_ids = sizes;
  }
}

const Instruction& Module::definition(uint32_t id) const {
  const Instruction* found = find(id);
  if (found == nullptr) refuse(base::format("the id {} is used but not defined", id));
  return *found;
}

const Decorations& Module::decorations(uint32_t id) const {
  static const Decorations kNone;
  const auto found = decorations_.find(id);
  return found == decorations_.end() ? kNone : found->second;
}

const Decorations& Module::member_decorations(uint32_t structure, uint32_t member) const {
  static const Decorations kNone;
  const auto found = member_decorations_.find(member_key(structure, member));
  return found == member_decorations_.end() ? kNone : found->second;
}

std::string_view Module::name(uint32_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : found->second;
}

std::string_view Module::member_name(uint32_t structure, uint32_t member) const {
  const auto found = member_names_.find(member_key(structure, member));
  return found == member_names_.end() ? std::string_view() : found->second;
}

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
