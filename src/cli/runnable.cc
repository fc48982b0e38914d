#include "cli/runnable.h"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cli/commands.h"
#include "cli/program.h"

namespace kymo::cli {
namespace {

constexpr size_t kScriptHead = 256;  // as much as the kernel reads

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string interpreter_of_script(std::string_view head) {
  head.remove_prefix(2);  // #!
  head = head.substr(0, head.find('\n'));
  const size_t begin = std::min(head.find_first_not_of(" \t"), head.size());
  head.remove_prefix(begin);
  return std::string(head.substr(0, head.find_first_of(" \t\r")));
}

// Empty: it has none. False: a part of the program that says so is missing.
bool read_interpreter(std::ifstream& file, const Elf64_Ehdr& header, std::string& interpreter) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * sizeof part));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
    if (part.p_type != PT_INTERP) continue;
    constexpr uint64_t kLongest = 4096;
    if (part.p_filesz < 2 || part.p_filesz > kLongest) return false;
    interpreter.resize(part.p_filesz);
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    if (!file.read(interpreter.data(), static_cast<std::streamsize>(interpreter.size()))) return false;
    interpreter.resize(std::strlen(interpreter.c_str()));
  }
  return true;
}

}  // namespace

void refuse_unrunnable(const std::string& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kScriptHead> bytes{};
  file.read(bytes.data(), bytes.size());
  const std::string_view head(bytes.data(), static_cast<size_t>(file.gcount()));
  file.clear();

  std::string interpreter;
  if (head.starts_with("#!")) {
    interpreter = interpreter_of_script(head);
  } else if (head.starts_with(std::string_view(ELFMAG, SELFMAG)) && head.size() > EI_CLASS &&
             head[EI_CLASS] == ELFCLASS64) {
    Elf64_Ehdr header{};
    std::memcpy(&header, head.data(), std::min(head.size(), sizeof header));
    if (head.size() < sizeof header || header.e_phentsize != sizeof(Elf64_Phdr) ||
        !read_interpreter(file, header, interpreter))
      throw CannotRun(name, "it is a program for another processor or system, or it is damaged", kCannotRun);
  }
  if (!interpreter.empty() && !is_there(interpreter)) throw CannotRun(name, "its interpreter is not found", kNotFound);
}

}  // namespace kymo::cli
