#include "query/duckdb.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::query {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "KYMO_DUCKDB_LIBRARY";
constexpr const char* kFile = "libduckdb.so";
constexpr const char* kVersion = "1.5.5";  // scripts/install-duckdb has it too

// The folder above bin and libexec, of an installed Kymo and in a build folder.
fs::path tree_of_this_program() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return folder.filename() == "kymo" ? folder.parent_path().parent_path() : folder.parent_path();
}

std::string remedy() {
  std::error_code ignored;
  const fs::path script = tree_of_this_program() / "libexec/kymo/install-duckdb";
  return base::format("install it with {}, or set KYMO_DUCKDB_LIBRARY to a libduckdb.so",
                      fs::exists(script, ignored) ? script.string() : "scripts/install-duckdb (in Kymo's sources)");
}

std::vector<fs::path> installed_files() {
  std::vector<fs::path> files = {tree_of_this_program() / "lib/kymo" / kFile};
  const char* const cache = base::environment("XDG_CACHE_HOME");
  const char* const home = base::environment("HOME");
  fs::path folder;
  if (cache != nullptr && *cache == '/')
    folder = cache;
  else if (home != nullptr && *home == '/')
    folder = fs::path(home) / ".cache";
  if (!folder.empty()) files.push_back(folder / "kymo" / base::format("duckdb-{}", kVersion) / kFile);
  return files;
}

std::string find_file() {
  if (const char* const given = base::environment(kVariable); given != nullptr && *given != '\0') {
    if (access(given, R_OK) != 0)
      throw NotAvailable(base::format("cannot read DuckDB's library {} ({}): {}", given, kVariable, remedy()));
    return fs::absolute(given).string();  // without a folder, dlopen would look elsewhere
  }
  for (const fs::path& file : installed_files())
    if (access(file.c_str(), R_OK) == 0) return file.string();
  return kFile;
}

duckdb::Api load() {
  const std::string path = find_file();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    if (path == kFile) throw NotAvailable(base::format("DuckDB is not installed: {}", remedy()));
    throw NotAvailable(base::format("cannot load DuckDB's library {}: {}; {}", path, dlerror(), remedy()));
  }
  return {{library, path}};
}

}  // namespace

duckdb::Library::Symbol duckdb::Library::find(const char* name) const {
  void* const address = dlsym(handle_, base::format("duckdb_{}", name).c_str());
  if (address == nullptr)
    throw NotAvailable(base::format("DuckDB's library {} has no duckdb_{}: Kymo needs DuckDB {} or a later version; {}",
                                    path_, name, kVersion, remedy()));
  return {address};
}

const duckdb::Api& duckdb_api() {
  static const duckdb::Api api = load();  // tried again if it throws
  return api;
}

std::string duckdb_problem() {
  try {
    duckdb_api();
    return {};
  } catch (const NotAvailable& error) {
    return error.what();
  }
}

}  // namespace kymo::query
