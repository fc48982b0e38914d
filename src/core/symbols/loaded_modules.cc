#include "symbols/loaded_modules.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "unwind/loaded_code.h"

namespace kymo::symbols {
namespace {

std::string path_of(const char* name) {
  char path[PATH_MAX];
  if (*name == '\0') {
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
  }
  if (std::string_view(name).starts_with("linux-vdso") || std::string_view(name).starts_with("linux-gate"))
    return base::format("[vdso: {}]", getpid());
  return realpath(name, path) != nullptr ? path : name;
}

}  // namespace

std::vector<LoadedModule> loaded_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const unwind::LoadedCode code = unwind::loaded_code(*info);
        if (code.begin >= code.end) return 0;
        uint8_t id[unwind::kMaxBuildIdBytes];
        const size_t id_bytes = unwind::build_id_of(code, id);
        static_cast<std::vector<LoadedModule>*>(argument)->push_back(
            {path_of(code.path), code.begin & ~(page - 1), (code.end + page - 1) & ~(page - 1), {id, id + id_bytes}});
        return 0;
      },
      &modules);
  return modules;
}

}  // namespace kymo::symbols
