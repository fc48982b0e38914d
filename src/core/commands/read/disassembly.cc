#include "commands/read/disassembly.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "cli/command.h"
#include "hosts/process.h"
#include "kymo/error.h"

namespace kymo::cli {

namespace {

// "  401136:\tpush   %rbp"
bool is_instruction(std::string_view line, Instruction& one) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), one.address, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || !line.starts_with(":\t")) return false;
  one.text = line.substr(2);
  return true;
}

// "/home/me/work.cc:17 (discriminator 2)"
bool is_place(std::string_view line, Instruction& one) {
  line = line.substr(0, line.find(" (discriminator "));
  const size_t colon = line.rfind(':');
  if (colon == line.npos || colon == 0) return false;
  const auto [end, error] = std::from_chars(line.data() + colon + 1, line.data() + line.size(), one.line);
  if (error != std::errc() || end != line.data() + line.size()) return false;
  one.file = line.substr(0, colon);
  return true;
}

}  // namespace

std::vector<Instruction> parse_disassembly(std::string_view text) {
  std::vector<Instruction> all;
  Instruction next;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (is_instruction(line, next))
      all.push_back(next);
    else
      is_place(line, next);
  }
  return all;
}

std::vector<Instruction> disassemble(const std::string& path, uint64_t begin, uint64_t end) {
  const hosts::Outcome outcome = hosts::run_to_end(
      {"objdump", "--disassemble", "--demangle", "--line-numbers", "--no-show-raw-insn", "--wide",
       base::format("--start-address={:#x}", begin), base::format("--stop-address={:#x}", end), "--", path});
  if (outcome.exit_code == kNotFound) throw Error("objdump was not found: install binutils");
  std::vector<Instruction> all = parse_disassembly(outcome.output);
  if (all.empty())
    throw Error(base::format("objdump found no instructions in {}: {}", path, hosts::last_line(outcome.errors)));
  return all;
}

}  // namespace kymo::cli
