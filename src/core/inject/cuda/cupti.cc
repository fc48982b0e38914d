#include "inject/cuda/cupti.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "base/environment.h"

namespace kymo::inject::cuda {
namespace {

// The newest first.
constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",
                                  "libcupti.so.11.6"};

// The major version of CUDA that the driver implements; 0: unknown. CUPTI must not be newer.
int driver_major() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  int version = 0;
  const auto get = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (get == nullptr || get(&version) != 0) version = 0;
  dlclose(driver);
  return version / 1000;
}

int major_of(const std::string& name) {
  const size_t at = name.find(".so.");
  return at == name.npos ? 0 : atoi(name.c_str() + at + 4);
}

void* open_library(std::string& why) {
  if (const char* const named = base::environment("KYMO_CUPTI")) {
    void* const library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) why = dlerror();
    return library;
  }
  // A program such as PyTorch brings its own.
  for (const char* name : kNames)
    if (void* const loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  const int newest = driver_major();
  for (const char* name : kNames) {
    if (newest != 0 && major_of(name) > newest) continue;
    for (const std::string& folder :
         {std::string(), std::string("/usr/local/cuda/lib64/"), std::string("/usr/local/cuda/extras/CUPTI/lib64/"),
          std::string("/opt/cuda/extras/CUPTI/lib64/")})
      if (void* const library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  why = "libcupti.so was not found; install CUDA's CUPTI, or name the file in KYMO_CUPTI";
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool is_cupti_loaded() noexcept {
  return base::environment("KYMO_CUPTI") == nullptr &&
         std::ranges::any_of(kNames, [](const char* name) { return dlopen(name, RTLD_NOW | RTLD_NOLOAD) != nullptr; });
}

const Cupti* load_cupti(std::string& why) {
  static Cupti found{};
  void* const library = open_library(why);
  if (library == nullptr) return nullptr;
  found.library = library;
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!find(library, name, function) && missing == nullptr) missing = name;
  };
  need("cuptiGetVersion", found.version);
  need("cuptiSubscribe", found.subscribe);
  need("cuptiUnsubscribe", found.unsubscribe);
  need("cuptiEnableCallback", found.enable_callback);
  need("cuptiEnableDomain", found.enable_domain);
  need("cuptiActivityEnable", found.enable);
  need("cuptiActivityDisable", found.disable);
  need("cuptiActivityRegisterCallbacks", found.register_buffers);
  need("cuptiActivityGetNextRecord", found.next_record);
  need("cuptiActivityFlushAll", found.flush);
  need("cuptiActivityGetNumDroppedRecords", found.dropped);
  need("cuptiFinalize", found.finalize);
  need("cuptiGetDeviceId", found.device_of);
  need("cuptiGetStreamIdEx", found.stream_of);
  find(library, "cuptiSubscribe_v2", found.subscribe_named);
  find(library, "cuptiActivityRegisterTimestampCallback", found.register_clock);
  find(library, "cuptiGetCallbackName", found.call_name);
  find(library, "cuptiGetGraphNodeId", found.graph_node_id);
  find(library, "cuptiGetGraphId", found.graph_id);
  find(library, "cuptiGetGraphExecId", found.graph_exec_id);
  if (missing == nullptr) return &found;
  why = std::string("this version of libcupti.so has no ") + missing;
  return nullptr;
}

}  // namespace kymo::inject::cuda
