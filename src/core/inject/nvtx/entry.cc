// The entry point of NVTX: libkymo_inject.so as the tool that NVTX_INJECTION64_PATH names.
#include <atomic>

#include "inject/adapter.h"
#include "inject/nvtx/chain.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/images.h"
#include "inject/nvtx/payload_abi.h"
#include "inject/nvtx/thread_state.h"
#include "kymo/export.h"

namespace kymo::inject::nvtx {
namespace {

constinit std::atomic<bool> has_images{false};

// If a recording runs before the first image gets its functions, the adapter sees every call of the process.
void activate() noexcept {
  if (images_active()) return;
  // With a chained tool it gets every call also while it is dormant, so it knows the depths.
  if (!has_chained_tool() || !has_images.load(std::memory_order_acquire))
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
  nvtx::load_chained_tool();
  start(nvtx::kAdapter);
  const bool attached = nvtx::attach_image(get_table);
  nvtx::has_images.store(true, std::memory_order_release);
  return attached ? 1 : 0;
}

// Called once for each extension that an image uses, after the function above. 0: its calls do nothing.
extern "C" KYMO_API int InitializeInjectionNvtxExtension(nvtx::ExtensionInfo* info) {
  if (!is_wanted(kymo::record::Interface::Nvtx) || info == nullptr || info->size < sizeof *info) return 0;
  if (info->segment_count == 0 || info->segments == nullptr || info->segments->slots == nullptr) return 0;
  const nvtx::ExtensionSegment& segment = info->segments[0];
  std::span<const nvtx::Handler> handlers;
  if (info->module == nvtx::kPayloadModule) handlers = nvtx::payload_handlers();
  if (info->module == nvtx::kCountersModule) handlers = nvtx::counter_handlers();
  if (info->module == nvtx::kMemoryModule) handlers = nvtx::memory_handlers();
  if (handlers.empty()) return 0;
  nvtx::load_chained_extension(*info);
  if (nvtx::has_chained_tool()) handlers = nvtx::chained_extension_handlers(info->module, handlers);
  return nvtx::attach_extension(segment.slots, segment.slot_count, handlers) ? 1 : 0;
}
