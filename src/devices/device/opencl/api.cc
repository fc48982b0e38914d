#include "device/opencl/api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/environment.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";
constexpr const char* kVariable = "KYMO_OPENCL_LIBRARY";

std::string library_name() {
  const char* named = base::environment(kVariable);
  return named != nullptr && *named != '\0' ? named : kLibrary;
}

void* open_library(const std::string& name) {
  if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  throw NotAvailable(base::format(
      "OpenCL is not available: cannot load {} ({}); install the loader (Debian: ocl-icd-libopencl1) and a "
      "driver (pocl-opencl-icd for the CPU, or the one of your GPU){}",
      name, reason != nullptr ? reason : "no reason given",
      name == kLibrary ? "" : base::format(", or unset {}", kVariable)));
}

template <class Function>
void find(void* library, const std::string& name, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function != nullptr) return;
  throw NotAvailable(base::format(
      "OpenCL is not available: {} has no function {}, so it is not an OpenCL loader of version 2.0 or later; "
      "install one (Debian: ocl-icd-libopencl1){}",
      name, symbol, name == kLibrary ? "" : base::format(", or unset {}", kVariable)));
}

}  // namespace

std::shared_ptr<const Api> load_api() {
  const std::string name = library_name();
  void* library = open_library(name);
  auto api = std::make_shared<Api>();
#define KYMO_FIND(symbol) find(library, name, #symbol, api->symbol);
  KYMO_OPENCL_FUNCTIONS(KYMO_FIND)
#undef KYMO_FIND
  api->clGetDeviceAndHostTimer =
      reinterpret_cast<decltype(api->clGetDeviceAndHostTimer)>(dlsym(library, "clGetDeviceAndHostTimer"));
  api->clGetExtensionFunctionAddressForPlatform =
      reinterpret_cast<decltype(api->clGetExtensionFunctionAddressForPlatform)>(
          dlsym(library, "clGetExtensionFunctionAddressForPlatform"));
  return api;
}

}  // namespace kymo::device::opencl
