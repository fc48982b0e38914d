#include "inject/nvtx/images.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "inject/adapter.h"
#include "inject/nvtx/thread_state.h"
#include "inject/torch/operators.h"
#include "kymo/export.h"
#include "record/process.h"

namespace kymo::inject::nvtx {
namespace {

// A value of a slot, changed while the program may call through it.
Slot load_slot(const Slot* slot) noexcept { return __atomic_load_n(slot, __ATOMIC_RELAXED); }
void store_slot(Slot* slot, Slot value) noexcept { __atomic_store_n(slot, value, __ATOMIC_RELEASE); }

// A slot that changes with the state of the adapter.
struct Switched {
  Slot* slot;
  Slot function;
  Slot off;
};

// One table of slots of one image. Never freed: the list is read without a lock.
struct Attached {
  Attached* next;
  uintptr_t lowest, highest;  // where its slots are, and its witness
  // A part of the image that another image in the same place would not have.
  const uint64_t* witness;
  uint64_t expected[2];
  uint32_t expected_bytes;
  uint32_t count;
  Switched* slots() noexcept { return reinterpret_cast<Switched*>(this + 1); }
  const Switched* slots() const noexcept { return reinterpret_cast<const Switched*>(this + 1); }
};

constinit std::atomic<Attached*> attached_list{nullptr};
constinit std::atomic<bool> is_active{false};

// Another image is there now, or the same one was loaded again and has not called yet.
bool is_still_there(const Attached& attached) noexcept {
  if (memcmp(attached.witness, attached.expected, attached.expected_bytes) != 0) return false;
  for (uint32_t i = 0; i < attached.count; ++i) {
    const Slot now = load_slot(attached.slots()[i].slot);
    if (now != attached.slots()[i].function && now != attached.slots()[i].off) return false;
  }
  return true;
}

void set_slots(const Attached& attached, bool active) noexcept {
  for (uint32_t i = 0; i < attached.count; ++i)
    store_slot(attached.slots()[i].slot, active ? attached.slots()[i].function : attached.slots()[i].off);
}

bool contains(const dl_phdr_info& object, uintptr_t lowest, uintptr_t highest) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0 && lowest >= begin && highest <= begin + part.p_memsz)
      return true;
  }
  return false;
}

int set_slots_of_object(dl_phdr_info* object, size_t, void* active) noexcept {
  for (Attached* one = attached_list.load(std::memory_order_acquire); one != nullptr; one = one->next)
    if (contains(*object, one->lowest, one->highest) && is_still_there(*one))
      set_slots(*one, *static_cast<const bool*>(active));
  return 0;
}

void set_all(bool active) noexcept {
  is_active.store(active, std::memory_order_seq_cst);
  dl_iterate_phdr(set_slots_of_object, &active);
}

// The image is executing a call, so it cannot be unloaded now. A change of the state at the same time sees the new
// entry of the list, or is seen here.
void add(Attached* made) noexcept {
  const auto at = [](const void* address) { return reinterpret_cast<uintptr_t>(address); };
  made->lowest = at(made->witness);
  made->highest = at(made->witness) + made->expected_bytes;
  for (uint32_t i = 0; i < made->count; ++i) {
    made->lowest = std::min(made->lowest, at(made->slots()[i].slot));
    made->highest = std::max(made->highest, at(made->slots()[i].slot) + sizeof(Slot));
  }
  memcpy(made->expected, made->witness, made->expected_bytes);
  made->next = attached_list.load(std::memory_order_relaxed);
  while (!attached_list.compare_exchange_weak(made->next, made, std::memory_order_seq_cst)) {
  }
  bool active;
  do {
    active = is_active.load(std::memory_order_seq_cst);
    set_slots(*made, active);
  } while (active != is_active.load(std::memory_order_seq_cst));
}

Attached* make_attached(size_t most) noexcept {
  return static_cast<Attached*>(calloc(1, sizeof(Attached) + most * sizeof(Switched)));
}

}  // namespace

bool attach_image(GetExportTable get_table) noexcept {
  const auto* const callbacks = static_cast<const CallbacksTable*>(get_table(kCallbacksTable));
  if (callbacks == nullptr || callbacks->size < sizeof *callbacks) return false;
  size_t most = 0;
  for (uint32_t module = 1; module <= kModules; ++module) most += handlers_of(module).size();
  Attached* const made = make_attached(most);
  if (made == nullptr) return false;
  for (uint32_t module = 1; module <= kModules; ++module) {
    Slot* const* table = nullptr;
    uint32_t count = 0;
    if (callbacks->get_module(module, &table, &count) == 0 || table == nullptr) continue;
    const std::span<const Handler> handlers = handlers_of(module);
    for (uint32_t i = 1; i < count && i < handlers.size(); ++i) {
      if (table[i] == nullptr) continue;
      if (handlers[i].when == When::Always) store_slot(table[i], handlers[i].function);
      if (handlers[i].when == When::Active) made->slots()[made->count++] = {table[i], handlers[i].function, nullptr};
    }
  }
  made->witness = reinterpret_cast<const uint64_t*>(callbacks);
  static_assert(sizeof(CallbacksTable) == sizeof made->expected);
  made->expected_bytes = sizeof made->expected;
  add(made);
  if (const auto* version = static_cast<const VersionTable*>(get_table(kVersionTable));
      version != nullptr && version->size >= sizeof *version && version->set_tool_version != nullptr)
    version->set_tool_version(3);
  return true;
}

bool attach_extension(intptr_t* slots, size_t count, std::span<const Handler> handlers) noexcept {
  Attached* const made = make_attached(handlers.size());
  if (made == nullptr || count == 0) return false;
  const Slot off = reinterpret_cast<Slot>(kDisabledSlot);
  for (size_t i = 0; i < count && i < handlers.size(); ++i) {
    Slot* const slot = reinterpret_cast<Slot*>(slots + i);
    if (handlers[i].when == When::Always) store_slot(slot, handlers[i].function);
    if (handlers[i].when == When::Active) made->slots()[made->count++] = {slot, handlers[i].function, off};
  }
  made->witness = reinterpret_cast<const uint64_t*>(slots);  // our own function
  made->expected_bytes = sizeof *slots;
  add(made);
  return true;
}

void activate_images() noexcept {
  if (!is_active.load(std::memory_order_acquire)) set_all(true);
}
void deactivate_images() noexcept {
  if (is_active.load(std::memory_order_acquire)) set_all(false);
}
bool images_active() noexcept { return is_active.load(std::memory_order_acquire); }

// ---- The entry points: libkymo_inject.so as the tool that NVTX_INJECTION64_PATH names -------------------------------

namespace {

constinit std::atomic<bool> has_images{false};

// If a recording runs before the first image gets its functions, the adapter sees every call of the process.
void activate() noexcept {
  // What was pushed while only iterations were counted is not in the recording: depths begin at 0 again.
  static constinit std::atomic<bool> has_recorded{false};
  const bool records = record::recording();
  if (images_active() && (!records || has_recorded.load(std::memory_order_relaxed))) return;
  has_recorded.store(records, std::memory_order_relaxed);
  begin_activity(!has_images.load(std::memory_order_acquire));
  activate_images();
}

constexpr Adapter kAdapter{record::Interface::Nvtx, activate, deactivate_images, true};

}  // namespace
}  // namespace kymo::inject::nvtx

using namespace kymo::inject;

// Called once for each image of the process that uses NVTX, with its first call; other threads of the image wait until
// it returns. It must not call NVTX. 0: the image has no tool, and unloads the library.
extern "C" KYMO_API int InitializeInjectionNvtx2(nvtx::GetExportTable get_table) {
  torch::start_if_loaded();
  if (!is_wanted(kymo::record::Interface::Nvtx)) return 0;
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
  const std::span<const nvtx::Handler> handlers = nvtx::extension_handlers_of(info->module);
  if (handlers.empty()) return 0;
  return nvtx::attach_extension(segment.slots, segment.slot_count, handlers) ? 1 : 0;
}
