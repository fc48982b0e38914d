// The instructions of a function, by objdump.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::cli {

struct Instruction {
  uint64_t address = 0;
  std::string text;  // "add    %rax,(%rbx)"
  std::string file;  // of its source; empty: not known
  uint32_t line = 0;
};

// Addresses are those of the file. Throws kymo::Error if there is no objdump, or if it cannot read the file.
std::vector<Instruction> disassemble(const std::string& path, uint64_t begin, uint64_t end);

// What `objdump --disassemble --line-numbers` printed.
std::vector<Instruction> parse_disassembly(std::string_view text);

}  // namespace kymo::cli
