#include "record/thread.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/slots.h"

namespace kymo::record {

thread_local constinit Slot* this_slot __attribute__((tls_model("initial-exec"))) = nullptr;
namespace {
thread_local constinit bool forbidden __attribute__((tls_model("initial-exec"))) = false;
thread_local constinit int parting_depth __attribute__((tls_model("initial-exec"))) = 0;

// Stored instead of a slot: the thread belongs to Kymo and may not record, for every copy of the library.
Slot* const kForbiddenSlot = reinterpret_cast<Slot*>(1);

// All copies of the library in this process see the thread's new slot immediately.
void set_this_slot(Process& shared, Slot* slot) noexcept {
  const uint32_t count = shared.copy_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kMaxCopies; ++i)
    if (auto address = shared.copies[i].slot.load(std::memory_order_acquire)) *address() = slot;
  pthread_setspecific(shared.slot_key, slot);
}

Slot* make_private_slot() noexcept {
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* slot = static_cast<Slot*>(memory);
  slot->index = kPrivateSlot;
  slot->depth = parting_depth;
  return slot;
}

}  // namespace

// From the private slot to one in the segment. Null: none is available.
Slot* enter_segment(Process& shared, Slot& from, Kind kind) noexcept {
  SegmentHeader* header = segment_for_recording(shared);
  if (header == nullptr) return nullptr;
  // After a failure, a thread tries again only after some time: it must not wait again for every record.
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC_COARSE);
  Slot* slot = now < from.retry_at ? nullptr : take_slot(shared, *header);
  if (slot == nullptr) {
    if (now >= from.retry_at) from.retry_at = base::clock_ns(CLOCK_MONOTONIC_COARSE) + kRetryNs;
    if (kind != Kind::End && kind != Kind::Pad) count_loss_without_slot(*header);
    return nullptr;
  }
  slot->depth = from.depth;
  slot->tid.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  slot->name_length = from.name_length;
  memcpy(slot->name, from.name, sizeof slot->name);
  slot->next_handle = from.next_handle;
  slot->last_handle = from.last_handle;
  slot->before = &from;
  set_this_slot(shared, slot);
  from.busy.store(0, std::memory_order_relaxed);
  return slot;
}

Slot** this_slot_address() noexcept { return &this_slot; }

Slot* find_slot() noexcept {
  if (this_slot != nullptr) return this_slot;
  if (forbidden) return nullptr;
  Process* shared = process();
  if (shared == nullptr) return nullptr;
  auto* slot = static_cast<Slot*>(pthread_getspecific(shared->slot_key));
  if (slot == kForbiddenSlot) {
    forbidden = true;
    return nullptr;
  }
  if (slot == nullptr) slot = make_private_slot();
  if (slot != nullptr) set_this_slot(*shared, slot);
  return slot;
}

void release_slot(void* pointer) noexcept {
  if (pointer == kForbiddenSlot) return;
  auto& slot = *static_cast<Slot*>(pointer);
  Process* shared = process();
  if (shared == nullptr) return;
  parting_depth = slot.depth;
  set_this_slot(*shared, nullptr);
  if (slot.index == kPrivateSlot) {
    munmap(&slot, kPage);
    return;
  }
  SegmentHeader* header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) return;
  if (slot.before != nullptr) munmap(slot.before, kPage);
  slot.before = nullptr;
  give_back_slot(slot, *header);
}

void leave_parents_slot(Process& shared) noexcept {
  auto* slot = static_cast<Slot*>(pthread_getspecific(shared.slot_key));
  if (slot == nullptr || slot == kForbiddenSlot) return;
  if (slot->index == kPrivateSlot) {
    slot->next_handle = slot->last_handle = 0;  // the rest of a range of numbers that the parent took
    return;
  }
  parting_depth = slot->depth;
  Slot* own = make_private_slot();
  if (own != nullptr) {
    own->name_length = slot->name_length;
    memcpy(own->name, slot->name, sizeof own->name);
  }
  set_this_slot(shared, own);
}

void forbid_recording_on_this_thread() noexcept {
  forbidden = true;
  Process* shared = process();
  if (shared == nullptr) return;
  set_this_slot(*shared, nullptr);
  pthread_setspecific(shared->slot_key, kForbiddenSlot);
}

}  // namespace kymo::record
