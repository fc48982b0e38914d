// The entry point of NVTX: libkymo_inject.so as the tool that NVTX_INJECTION64_PATH names.
#include <atomic>

#include "inject/adapter.h"
#include "inject/nvtx/images.h"
#include "inject/nvtx/thread_state.h"
#include "kymo/export.h"

namespace kymo::inject::nvtx {
namespace {

constinit std::atomic<bool> has_images{false};

// If a recording runs before the first image gets its functions, the adapter sees every call of the process.
void activate() noexcept {
  if (images_active()) return;
  begin_activity(!has_images.load(std::memory_order_acquire));
  activate_images();
}

constexpr Adapter kAdapter{record::Interface::Nvtx, activate, deactivate_images};

}  // namespace
}  // namespace kymo::inject::nvtx

using namespace kymo::inject;

// Called once for each image of the process that uses NVTX, with its first call; other threads of the image wait until
// it returns. It must not call NVTX. 0: the image has no tool, and unloads the library.
extern "C" KYMO_API int InitializeInjectionNvtx2(nvtx::GetExportTable get_table) {
  if (!is_wanted(kymo::record::Interface::Nvtx)) return 0;
  start(nvtx::kAdapter);
  const bool attached = nvtx::attach_image(get_table);
  nvtx::has_images.store(true, std::memory_order_release);
  return attached ? 1 : 0;
}
