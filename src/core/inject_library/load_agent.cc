// Loads the agent for traces on demand into the program, if KYMO_DAEMON asks for one.
//
// The agent is in libkymo_ondemand.so, beside this library. It is not a part of this library: most programs need none,
// it brings libraries of its own, and a program that is linked with it must not get a second one.
#include <dlfcn.h>

#include <string>

#include "base/environment.h"
#include "base/print.h"
#include "base/version.h"
#include "inject/adapter.h"

namespace kymo::inject {
namespace {

std::string folder_of_this_library() {
  Dl_info where;
  if (dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &where) == 0 || where.dli_fname == nullptr)
    return {};
  const std::string path = where.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string() : path.substr(0, slash + 1);
}

__attribute__((constructor(105))) void load_agent() {
  listen();
  const char* const daemon = base::environment("KYMO_DAEMON");
  if (daemon == nullptr || *daemon == '\0' || base::environment("KYMO_SESSION") != nullptr) return;
  if (dlsym(RTLD_DEFAULT, "kymo_link_ondemand") != nullptr) return;  // the program has one
  const std::string folder = folder_of_this_library();
  // The agent needs libkymo.so, which the system's search may not find.
  for (const char* name : {"libkymo.so." KYMO_LIBRARY_VERSION, "libkymo_ondemand.so." KYMO_LIBRARY_VERSION}) {
    if (dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) continue;
    const char* const why = dlerror();
    base::say_to_user("this program cannot be traced on demand: ", why != nullptr ? why : name);
    return;
  }
}

}  // namespace
}  // namespace kymo::inject
