// The sink "lttng": a module next to this library, which is loaded on request. LTTng-UST starts its own threads when it
// is loaded. Programs that did not request the sink do not have these threads.
#include "base/static_program.h"
#include "base/text.h"
#include "sink/builtin.h"

#if KYMO_HAVE_LTTNG_UST
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "sink/lttng/module.h"

namespace kymo::sink {
namespace {

namespace fs = std::filesystem;

// Searches next to this library, next to the program, in the lib/ of the program's tree, and in the library folder of
// the installation.
std::optional<fs::path> find_lttng_module() {
  std::vector<fs::path> folders;
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&find_lttng_module), &here) != 0 && here.dli_fname != nullptr)
    folders.push_back(fs::path(here.dli_fname).parent_path());
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!program.empty()) folders.insert(folders.end(), {program, program.parent_path() / "lib"});
  folders.push_back(KYMO_LIBRARY_FOLDER);
  for (const fs::path& folder : folders) {
    const fs::path file = folder / kLttngModule;
    if (file.is_absolute() && access(file.c_str(), R_OK) == 0) return file;
  }
  return std::nullopt;
}

std::string lttng_absent() {
  if (base::is_static_program()) return "this program is linked with -static and cannot load it: link without -static";
  if (find_lttng_module()) return {};
  return base::format("{} is neither beside libkymo nor beside the program: install Kymo whole, or put it there",
                      kLttngModule);
}

const kymo_sink& open_lttng() {
  const auto fail = [](const std::string& why) { return not_available("lttng", why); };
  static const kymo_sink* opened = nullptr;  // set by the first call; the linker returns the same module to all
  if (opened != nullptr) return *opened;
  if (const std::string why = lttng_absent(); !why.empty()) throw fail(why);
  const auto file = find_lttng_module();
  void* module = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const char* why = dlerror();
    throw fail(base::format("{}; install liblttng-ust1", why != nullptr ? why : file->string()));
  }
  const auto sink = reinterpret_cast<LttngSink*>(dlsym(module, kLttngSymbol));
  if (sink == nullptr) throw fail(base::format("{} is of another version of Kymo", file->string()));
  opened = sink();
  return *opened;
}

}  // namespace

BuiltinSink lttng() { return {"lttng", lttng_absent, open_lttng}; }

}  // namespace kymo::sink
#else
namespace kymo::sink {
namespace {

std::string lttng_absent() { return "built without it: install liblttng-ust-dev and build Kymo anew"; }

}  // namespace

BuiltinSink lttng() {
  return {"lttng", lttng_absent, []() -> const kymo_sink& { throw not_available("lttng", lttng_absent()); }};
}

}  // namespace kymo::sink
#endif
