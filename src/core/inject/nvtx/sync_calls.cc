// The module SYNC: locks and similar objects that a program implements itself.
//
// Waiting for the object is a range of the thread, "acquire NAME". Holding it is a range across threads, "hold NAME".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "inject/nvtx/domain.h"
#include "inject/nvtx/events.h"
#include "inject/nvtx/handlers.h"
#include "inject/nvtx/message.h"
#include "inject/nvtx/objects.h"
#include "record/interfaces.h"

namespace kymo::inject::nvtx {
namespace {

constexpr size_t kNameBytes = 256;

struct SyncObject : Object {
  Domain* domain;
  char acquire[kNameBytes], hold[kNameBytes], failed[kNameBytes];
  std::atomic<uint64_t> held;  // the handle of the range; 0: not held
};

SyncObject* create_sync(Domain* domain, const SyncAttributes* given) noexcept {
  auto* const made = static_cast<SyncObject*>(calloc(1, sizeof(SyncObject)));
  if (made == nullptr || given == nullptr) return made;
  SyncAttributes known{};
  memcpy(&known, given, std::min<size_t>(std::max<size_t>(given->size, 2 * sizeof given->size), sizeof known));
  const Text text(known.message_type, known.message);
  const auto length = static_cast<int>(std::min(text.view().size(), kNameBytes));
  made->domain = &domain_of(domain);
  snprintf(made->acquire, kNameBytes, "acquire %.*s", length, text.view().data());
  snprintf(made->hold, kNameBytes, "hold %.*s", length, text.view().data());
  snprintf(made->failed, kNameBytes, "failed to acquire %.*s", length, text.view().data());
  return made;
}

void destroy_sync(SyncObject* object) noexcept { free(object); }

void acquire_start(SyncObject* object) noexcept {
  if (object != nullptr && record::recording()) begin_on_stack(*object->domain, object->acquire, kSyncStack);
}
void acquire_end() noexcept {
  if (record::recording()) end_on_stack(kSyncStack);
}
void acquire_failed(SyncObject* object) noexcept {
  if (object == nullptr) return;
  acquire_end();
  mark(*object->domain, object->failed);
}
void acquire_success(SyncObject* object) noexcept {
  if (object == nullptr) return;
  acquire_end();
  object->held.store(start_range(*object->domain, object->hold), std::memory_order_relaxed);
}
void releasing(SyncObject* object) noexcept {
  if (object == nullptr) return;
  if (const uint64_t handle = object->held.exchange(0, std::memory_order_relaxed); handle != 0) end_range(handle);
}

}  // namespace

std::span<const Handler> sync_handlers() noexcept {
  static const Handler all[] = {{},
                                always(create_sync),
                                always(destroy_sync),
                                while_active(acquire_start),
                                while_active(acquire_failed),
                                while_active(acquire_success),
                                while_active(releasing)};
  return all;
}

}  // namespace kymo::inject::nvtx
