#include "cli/python_functions.h"

#include <unistd.h>

#include <filesystem>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::cli {
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
