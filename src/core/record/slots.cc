#include "record/slots.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/clock.h"
#include "record/refusal.h"
#include "record/slow_path.h"

namespace kymo::record {
namespace {

constexpr uint32_t kRetiredBacklog = 32;  // with this many full rings of ended threads, a new thread waits
constexpr int kNoneLeft = -1, kNoMemory = -2;

bool change_state(SegmentHeader& header, uint32_t index, SlotState from, SlotState to) noexcept {
  auto expected = static_cast<uint32_t>(from);
  return header.slot_state[index].compare_exchange_strong(expected, static_cast<uint32_t>(to));
}

// True if the collector must read more than the ring before the slot can have another owner.
bool has_leftovers(const Slot& slot) noexcept {
  return slot.side_count.load(std::memory_order_relaxed) != 0 || slot.lost_ends.load(std::memory_order_relaxed) != 0 ||
         slot.loss_pending.load(std::memory_order_relaxed) != 0;
}

// True if a new owner can write after the unread records of the last one. The reader sees from Sync where it begins.
bool has_space_for_next(const Slot& slot) noexcept {
  const uint64_t unread = slot.head.load(std::memory_order_relaxed) - slot.tail.load(std::memory_order_acquire);
  return unread * 2 < slot.mask + 1 && !has_leftovers(slot);
}

// A slot whose owner has ended. Its ring may contain unread records, except in a flight recorder: its threads keep
// their last records only as long as no other thread overwrites them.
int take_ended_slot(SegmentHeader& header) noexcept {
  const bool shares_rings =
      header.policy.load(std::memory_order_relaxed) != static_cast<uint32_t>(RingPolicy::Overwrite);
  const uint32_t used = header.slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const auto state = static_cast<SlotState>(header.slot_state[i].load(std::memory_order_acquire));
    if (state == SlotState::Free && change_state(header, i, SlotState::Free, SlotState::Live))
      return static_cast<int>(i);
    if (state != SlotState::Retired || !shares_rings) continue;
    const Slot& slot = slot_page(&header, i)->slot;
    if (!has_space_for_next(slot) || !change_state(header, i, SlotState::Retired, SlotState::Live)) continue;
    // Another thread may have had the slot since it was checked.
    if (!has_space_for_next(slot)) {
      header.slot_state[i].store(static_cast<uint32_t>(SlotState::Retired), std::memory_order_release);
      continue;
    }
    header.retired_slots.fetch_sub(1, std::memory_order_relaxed);
    return static_cast<int>(i);
  }
  return kNoneLeft;
}

// A slot that was never used. Its memory is allocated now, before anyone reads it. Threads that do this at the same
// time do not wait for each other.
int take_new_slot(Process& shared, SegmentHeader& header) noexcept {
  uint32_t index = header.slots_used.load(std::memory_order_acquire);
  while (index < header.slot_capacity && !change_state(header, index, SlotState::Unused, SlotState::Allocating))
    ++index;
  if (index >= header.slot_capacity) return kNoneLeft;
  if (!allocate_slot(shared.mapping, shared.segment_path, index)) {
    header.slot_state[index].store(static_cast<uint32_t>(SlotState::Unused));
    header.no_ring_reason.fetch_or(kNoRingMemory, std::memory_order_relaxed);
    return kNoMemory;
  }
  Slot& slot = slot_page(&header, index)->slot;
  slot.index = index;
  slot.cells = slot_cells(&header, index);
  slot.mask = header.ring_cells - 1;
  header.slot_state[index].store(static_cast<uint32_t>(SlotState::Live), std::memory_order_release);
  uint32_t used = header.slots_used.load(std::memory_order_relaxed);
  while (used <= index && !header.slots_used.compare_exchange_weak(used, index + 1, std::memory_order_release)) {
  }
  return static_cast<int>(index);
}

int take_index(Process& shared, SegmentHeader& header) noexcept {
  int index = take_ended_slot(header);
  if (index >= 0) return index;
  const auto take_ended = [&] { return (index = take_ended_slot(header)) >= 0; };
  const bool may_wait = header.policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(RingPolicy::Block) &&
                        header.collector_attached.load(std::memory_order_relaxed) != 0;
  // If threads fill their rings and end faster than the collector reads, the segment must not grow without limit.
  if (may_wait && header.retired_slots.load(std::memory_order_relaxed) >= kRetiredBacklog &&
      wait_for_collector(header, kSlotFreed, take_ended))
    return index;
  index = take_new_slot(shared, header);
  if (index == kNoneLeft) header.no_ring_reason.fetch_or(kNoRingSlot, std::memory_order_relaxed);
  if (index == kNoneLeft && may_wait) wait_for_collector(header, kSlotFreed, take_ended);
  return index;
}

// Needs restart_lock: several threads of a forked child may record their first event at the same time.
SegmentHeader* begin_in_child(Process& shared) noexcept {
  SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  if (header != nullptr || shared.refused == shared.pid) return header;
  const SegmentHeader* const parent = shared.parent_mapping.header;
  const auto restart = shared.restart.load(std::memory_order_acquire);
  const bool external = shared.external.load(std::memory_order_relaxed);
  const bool is_over = external && parent != nullptr && parent->closed.load(std::memory_order_acquire) != 0;
  Outcome made;
  if (restart == nullptr && external && !is_over) made = ensure_segment(shared);
  const bool ready = restart != nullptr ? restart() : external && !is_over && made;
  header = shared.segment.load(std::memory_order_acquire);
  if (!ready || header == nullptr) {
    set_mode(shared, kRecordingBit, false);
    shared.refused = shared.pid;  // later records are ends of ranges that began before this
    // The child has inherited the parent's mapping, and the parent's collector reports the count.
    SegmentHeader* const header_of_parent = shared.parent_mapping.header;
    if (!made && !send_refusal(shared.options.session, made.why()) && header_of_parent != nullptr)
      header_of_parent->unrecorded_children.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (restart == nullptr) start_recording(shared);
  return header;
}

}  // namespace

SegmentHeader* segment_for_recording(Process& shared) noexcept {
  // While the lock is held, the segment may exist already, but nobody collects it yet.
  SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  if (header != nullptr && shared.restart_lock.load(std::memory_order_acquire) == 0) return header;
  while (shared.restart_lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  header = begin_in_child(shared);
  shared.restart_lock.store(0, std::memory_order_release);
  return header;
}

Slot* take_slot(Process& shared, SegmentHeader& header) noexcept {
  const int index = take_index(shared, header);
  if (index < 0) return nullptr;
  Slot& slot = slot_page(&header, static_cast<uint32_t>(index))->slot;
  slot.busy.store(1, std::memory_order_relaxed);
  slot.depth = 0;
  slot.tid.store(0, std::memory_order_relaxed);
  slot.name_length = 0;
  slot.dropped_depth = 0;
  slot.lost_ends = 0;
  slot.wait_class.store(0, std::memory_order_relaxed);
  slot.side_dropped = slot.side_open = 0;
  slot.limit.store(0, std::memory_order_relaxed);
  slot.epoch = 0;
  slot.before = nullptr;
  slot.queue = nullptr;
  return &slot;
}

void give_back_slot(Slot& slot, SegmentHeader& header) noexcept {
  end_owner(slot, header);
  slot.busy.store(0, std::memory_order_relaxed);
  // If everything is read, the slot is free. Otherwise the collector frees it after reading it, or the next owner takes
  // it before that.
  const bool unread =
      slot.head.load(std::memory_order_relaxed) != slot.tail.load(std::memory_order_acquire) || has_leftovers(slot);
  if (unread) header.retired_slots.fetch_add(1, std::memory_order_relaxed);
  header.slot_state[slot.index].store(static_cast<uint32_t>(unread ? SlotState::Retired : SlotState::Free),
                                      std::memory_order_release);
  if (header.retired_slots.load(std::memory_order_relaxed) >= kRetiredBacklog / 2) wake_collector(header);
}

void count_loss_without_slot(SegmentHeader& header) noexcept {
  const uint64_t now = ticks();
  if (header.lost_without_slot.fetch_add(1, std::memory_order_relaxed) == 0)
    header.lost_without_slot_first.store(now, std::memory_order_relaxed);
  header.lost_without_slot_last.store(now, std::memory_order_relaxed);
}

// ---- The slot of the calling thread --------------------------------------------------------------------------------

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
