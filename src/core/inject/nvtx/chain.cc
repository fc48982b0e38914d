#include "inject/nvtx/chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <atomic>

#include "base/environment.h"
#include "base/say.h"

namespace kymo::inject::nvtx {
namespace {

constexpr uint32_t kSlotCounts[kModules + 1] = {0, 16, 9, 15, 7, 16, 7};  // with number 0
constexpr uint16_t kExtensionModules = 5;

using InitializeTool = int (*)(GetExportTable);
using InitializeExtension = int (*)(ExtensionInfo*);

Slot slots[kModules + 1][kMaxSlots];
Slot* tables[kModules + 1][kMaxSlots];
intptr_t extension_slots[kExtensionModules][kMaxSlots];

constinit std::atomic<bool> is_loaded{false};
constinit InitializeExtension initialize_extension = nullptr;

int get_module(uint32_t module, Slot* const** table, uint32_t* count) {
  if (module == 0 || module > kModules) return 0;
  for (uint32_t i = 1; i < kSlotCounts[module]; ++i) tables[module][i] = &slots[module][i];
  if (table != nullptr) *table = tables[module];
  if (count != nullptr) *count = kSlotCounts[module];
  return 1;
}

const void* get_table(uint32_t table) {
  static const CallbacksTable callbacks{sizeof callbacks, get_module};
  static const VersionTable version{sizeof version, 3, 0, [](uint32_t) {}};
  if (table == kCallbacksTable) return &callbacks;
  return table == kVersionTable ? &version : nullptr;
}

void complain(const char* path, const char* why) {
  base::say_to_user(std::string("NVTX calls are not passed on to ") + path + ": ", why);
}

void load(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) {
    const char* const why = dlerror();
    return complain(path, why != nullptr ? why : "it cannot be loaded");
  }
  const auto initialize = reinterpret_cast<InitializeTool>(dlsym(library, "InitializeInjectionNvtx2"));
  Dl_info own, other;
  if (initialize == nullptr) return complain(path, "it is not a tool for NVTX 3");
  const bool is_this = dladdr(reinterpret_cast<const void*>(&load_chained_tool), &own) != 0 &&
                       dladdr(reinterpret_cast<const void*>(initialize), &other) != 0 &&
                       own.dli_fbase == other.dli_fbase;
  if (is_this) return;
  if (initialize(get_table) == 0) return complain(path, "it refused to start");
  initialize_extension = reinterpret_cast<InitializeExtension>(dlsym(library, "InitializeInjectionNvtxExtension"));
  is_loaded.store(true, std::memory_order_release);
}

}  // namespace

void load_chained_tool() noexcept {
  enum : uint32_t { kNew, kLoading, kDone };
  static constinit std::atomic<uint32_t> state{kNew};
  static constinit std::atomic<pthread_t> loader{};
  uint32_t before = kNew;
  if (state.compare_exchange_strong(before, kLoading)) {
    loader.store(pthread_self());
    try {
      const char* const path = base::environment("KYMO_NVTX_CHAIN");
      if (path != nullptr && *path != '\0') load(path);
    } catch (...) {  // no memory for a message
    }
    state.store(kDone);
    return;
  }
  // The tool may use NVTX itself while it starts, which leads back here. Its own calls are not passed on to it.
  while (state.load() != kDone && loader.load() != pthread_self()) sched_yield();
}

bool has_chained_tool() noexcept { return is_loaded.load(std::memory_order_acquire); }

void load_chained_extension(const ExtensionInfo& info) noexcept {
  static constinit std::atomic<uint32_t> tried{0};
  if (!has_chained_tool() || initialize_extension == nullptr || info.module >= kExtensionModules) return;
  if ((tried.fetch_or(1u << info.module) >> info.module & 1) != 0) return;
  ExtensionSegment segment{0, kMaxSlots - 1, extension_slots[info.module]};
  ExtensionInfo copy = info;
  copy.segment_count = 1;
  copy.segments = &segment;
  if (initialize_extension(&copy) == 0) memset(extension_slots[info.module], 0, sizeof extension_slots[info.module]);
}

Slot chained_slot(uint32_t module, uint32_t number) noexcept {
  return __atomic_load_n(&slots[module][number], __ATOMIC_ACQUIRE);
}

Slot chained_extension_slot(uint16_t module, uint32_t number) noexcept {
  const intptr_t function = __atomic_load_n(&extension_slots[module][number], __ATOMIC_ACQUIRE);
  return function == kDisabledSlot ? nullptr : reinterpret_cast<Slot>(function);
}

}  // namespace kymo::inject::nvtx
