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

}  // namespace kymo::cli
