#include "cli/kymo_library.h"

#include <unistd.h>

#include <filesystem>

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

}  // namespace kymo::cli
