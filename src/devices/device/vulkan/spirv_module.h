// A SPIR-V module as a list of instructions, with lookup of definitions, names and decorations.
//
// The words come from outside and are not trusted: every length, id and operand is checked when it is read. Input that
// is not SPIR-V, or breaks a rule that the reader depends on, throws CompileError with the instruction. This is not a
// validator: a module that is well-formed but wrong passes, and the driver must reject it. Immutable once created; many
// threads can read it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/vulkan/spirv_words.h"

namespace kymo::device::vulkan::spirv {

// Throws CompileError: "SPIR-V: …".
[[noreturn]] void refuse(const std::string& why);

struct Instruction {
  Op op{};
  std::span<const uint32_t> words;  // the first word contains the opcode and the length

  uint32_t at(size_t index) const {
    if (index >= words.size()) too_short();
    return words[index];
  }
  size_t size() const { return words.size(); }

 private:
  [[noreturn]] void too_short() const;
};

// The decorations of one id, or of one member of a structure.
struct Decorations {
  std::optional<uint32_t> built_in, set, binding, spec_id, array_stride, matrix_stride, offset;
  bool block = false, buffer_block = false;
};

struct EntryPoint {
  uint32_t function = 0;
  std::string name;
  std::vector<uint32_t> interface;
  std::array<uint32_t, 3> local_size{1, 1, 1};
  std::optional<std::array<uint32_t, 3>> local_size_ids;  // ids of constants, which have priority
};

class Module {
 public:
  explicit Module(std::vector<uint32_t> words);
  Module(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // From the bytes of a file or a message: throws CompileError unless they are whole words. Either byte order.
  static std::vector<uint32_t> words_of(std::string_view bytes);

  std::span<const uint32_t> words() const { return words_; }
  uint32_t version() const { return words_[1]; }
  uint32_t bound() const { return words_[3]; }
  std::span<const Instruction> instructions() const { return instructions_; }
  std::span<const EntryPoint> entry_points() const { return entry_points_; }  // of compute kernels
  std::span<const uint32_t> capabilities() const { return capabilities_; }

  // For types, constants, global variables and functions. The first throws if there is none, the second returns null.
  const Instruction& definition(uint32_t id) const;
  const Instruction* find(uint32_t id) const {
    return id < definitions_.size() ? at_or_null(definitions_[id]) : nullptr;
  }

  const Decorations& decorations(uint32_t id) const;
  const Decorations& member_decorations(uint32_t structure, uint32_t member) const;
  std::string_view name(uint32_t id) const;  // empty: no name
  std::string_view member_name(uint32_t structure, uint32_t member) const;

 private:
  const Instruction* at_or_null(uint32_t index) const { return index == 0 ? nullptr : &instructions_[index - 1]; }
  void index(const Instruction& instruction);
  void add_entry_point(const Instruction& instruction);
  void set_mode(const Instruction& instruction);

  std::vector<uint32_t> words_;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> definitions_;  // by id: index of the instruction + 1; 0: none
  std::unordered_map<uint32_t, Decorations> decorations_;
  std::unordered_map<uint64_t, Decorations> member_decorations_;
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_map<uint64_t, std::string> member_names_;
  std::vector<EntryPoint> entry_points_;
  std::vector<uint32_t> capabilities_;
};

}  // namespace kymo::device::vulkan::spirv
