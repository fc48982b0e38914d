// The entry point of the CUDA driver: libkymo_inject.so as the library that CUDA_INJECTION64_PATH names.
//
// If the variable named another library before, KYMO_CUDA_CHAIN names it: it comes first, and may take CUPTI.
#include <dlfcn.h>

#include "base/environment.h"
#include "base/say.h"
#include "inject/adapter.h"
#include "inject/cuda/recorder.h"
#include "kymo/export.h"

using namespace kymo::inject;

namespace {

constexpr Adapter kAdapter{kymo::record::Interface::Cuda, cuda::start_recording, cuda::stop_recording};

void start_other_tool() {
  const char* const path = kymo::base::environment("KYMO_CUDA_CHAIN");
  if (path == nullptr || *path == '\0') return;
  void* const library = dlopen(path, RTLD_NOW);
  const auto entry = library != nullptr ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
  if (entry != nullptr)
    entry();
  else
    kymo::base::say_to_user("the tool in CUDA_INJECTION64_PATH is not loaded: ", dlerror());
}

}  // namespace

// The driver calls it once, in cuInit. It expects 1.
extern "C" KYMO_API int InitializeInjection() {
  start_other_tool();
  if (is_wanted(kymo::record::Interface::Cuda)) start(kAdapter);
  return 1;
}
