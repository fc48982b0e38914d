#include "commands/record/libraries.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::cli {

std::string find_kymo_library(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path(), tree = here.parent_path();
  for (const fs::path& folder : {here, tree / "lib", tree / KYMO_LIBRARY_SUBFOLDER, fs::path(KYMO_LIBRARY_FOLDER)}) {
    const fs::path file = folder / name;
    if (file.is_absolute() && access(file.c_str(), R_OK) == 0) return file.string();
  }
  throw NotAvailable(base::format(
      "{} not found beside the kymo command or in the lib folder of its tree: install all of Kymo, or put the file "
      "there",
      name));
}

namespace {

constexpr const char* kMemoryLibrary = "libkymo_malloc.so";

}  // namespace

void check_allocator(const std::string& program) {
  // Without the two leading underscores: with them, this program itself would match.
  constexpr std::pair<std::string_view, std::string_view> kSanitizers[] = {
      {"asan_init", "AddressSanitizer"}, {"tsan_init", "ThreadSanitizer"}, {"msan_init", "MemorySanitizer"}};
  std::ifstream file(program, std::ios::binary);
  std::string piece(1 << 20, '\0'), text;
  bool is_first = true;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece, 0, static_cast<size_t>(file.gcount()));
    if (std::exchange(is_first, false) && !text.starts_with("\x7f"
                                                            "ELF"))
      return;
    for (const auto& [symbol, name] : kSanitizers)
      if (text.find("__" + std::string(symbol)) != text.npos)
        throw NotAvailable(base::format(
            "{} is built with {}, which has its own allocator and does not work with another one: record it without "
            "--memory, or build it without the sanitizer",
            program, name));
    text.erase(0, text.size() - std::min<size_t>(text.size(), 16));  // a name may span two pieces
  }
}

std::string find_preloaded_library(const std::string& name) {
  std::string library = find_kymo_library(name);
  // The linker reads both as separators, and there is no way to escape them.
  if (library.find_first_of(" :") != std::string::npos)
    throw NotAvailable(
        base::format("{} cannot be loaded into programs: its path must not contain a space or a colon", library));
  return library;
}

std::string& variable_in(std::vector<std::pair<std::string, std::string>>& environment, const char* name) {
  const auto given = std::ranges::find(environment, name, [](const auto& one) { return one.first; });
  if (given != environment.end()) return given->second;
  const char* const inherited = base::inherited_environment(name);
  return environment.emplace_back(name, inherited != nullptr ? inherited : "").second;
}

void add_memory(std::vector<std::pair<std::string, std::string>>& environment, const std::string& mode) {
  const std::string library = find_preloaded_library(kMemoryLibrary);  // before another allocator
  std::string& preload = variable_in(environment, kPreloadVariable);
  preload = preload.empty() ? library : library + ":" + preload;
  environment.emplace_back("KYMO_MALLOC", mode);
}

namespace {

// The folder whose sitecustomize.py every Python loads that has it in PYTHONPATH.
std::string find_startup_folder() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path tree = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  for (const fs::path& folder : {tree / "python", tree / KYMO_PYTHON_SUBFOLDER}) {
    const fs::path startup = folder / "kymo" / "startup";
    if (access((startup / "sitecustomize.py").c_str(), R_OK) == 0) return startup.string();
  }
  throw NotAvailable(base::format("--python needs Kymo's Python package, which is not in {}: install all of Kymo",
                                  (tree / KYMO_PYTHON_SUBFOLDER).string()));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> python_environment(const std::string& mode) {
  std::string path = find_startup_folder();
  if (path.find(':') != path.npos)
    throw NotAvailable(base::format("{} cannot be put into PYTHONPATH: its path must not contain a colon", path));
  if (const char* others = base::environment("PYTHONPATH"); others != nullptr && *others != '\0')
    path.append(":").append(others);
  return {{"PYTHONPATH", path}, {"KYMO_PYTHON_FUNCTIONS", mode}};
}

std::string python_obstacle(const std::vector<std::string>& program) {
  const std::string name = std::filesystem::path(program[0]).filename().string();
  if (!name.starts_with("python")) return {};
  // Its options end at the script, or at -c or -m. -W and -X have a word of their own.
  for (size_t i = 1; i < program.size() && program[i].size() > 1 && program[i][0] == '-'; ++i) {
    const std::string& word = program[i];
    if (word.starts_with("--")) continue;
    for (const char letter : word.substr(1)) {
      if (letter == 'I' || letter == 'E' || letter == 'S')
        return base::format("{} -{} does not load what --python needs (sitecustomize, by PYTHONPATH)", name, letter);
      if (letter == 'c' || letter == 'm') return {};
      if (letter != 'W' && letter != 'X') continue;
      if (word.back() == letter) ++i;
      break;
    }
  }
  return {};
}

}  // namespace kymo::cli
