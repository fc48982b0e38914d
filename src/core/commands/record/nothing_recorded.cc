#include "commands/record/nothing_recorded.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/printable.h"
#include "base/text.h"
#include "commands/record/interfaces.h"
#include "commands/record/program.h"

namespace kymo::cli {
namespace {

constexpr const char* kIsStatic = "is linked statically, and Kymo's libraries do not work in such a program";

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
#else
constexpr uint16_t kOwnMachine = EM_AARCH64;
#endif

bool changes_user(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid());
}

std::string obstacle(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is a 32-bit program, and Kymo's libraries have 64 bits";
  if (header.e_machine != kOwnMachine) return "is a program for another processor than Kymo's libraries";
  if (changes_user(path)) return "has the rights of another user (setuid), and ignores the environment of Kymo";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return {};
    if (part.p_type == PT_INTERP) return {};
  }
  return kIsStatic;
}

}  // namespace

bool is_static_program(const std::string& path) { return obstacle(path) == kIsStatic; }

std::string obstacle_to_libraries(const std::string& program) {
  try {
    return obstacle(find_program(program));
  } catch (const CannotRun&) {  // it has deleted itself
    return {};
  }
}

namespace {

bool program_changes_user(const std::string& program) {
  try {
    return changes_user(find_program(program));
  } catch (const CannotRun&) {
    return false;
  }
}

}  // namespace

std::string nothing_recorded(const std::string& program, const std::vector<record::Interface>& interfaces,
                             bool was_sampled) {
  std::string text = "nothing was recorded: ";
  if (was_sampled && program_changes_user(program))
    return text + base::format(
                      "{} has the rights of another user (setuid): the kernel does not sample it, and it ignores the "
                      "environment of Kymo; run kymo as that user",
                      base::printable(program));
  if (was_sampled) text += "the CPU was used for less than the time between two samples, ";
  if (const std::string why = obstacle_to_libraries(program); !why.empty())
    return text + base::format("{}{} {}", was_sampled ? "and " : "", base::printable(program), why);
  text += "no program that ran is linked with Kymo";
  if (!interfaces.empty()) text += base::format(", and none used {}", interface_titles(interfaces));
  return text;
}

}  // namespace kymo::cli
