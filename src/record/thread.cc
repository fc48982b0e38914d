#include "record/thread.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/room.h"
#include "record/wait.h"

namespace kymo::record {

thread_local constinit Slot* this_slot = nullptr;
namespace {
thread_local constinit bool forbidden __attribute__((tls_model("initial-exec"))) = false;
thread_local constinit int parting_depth __attribute__((tls_model("initial-exec"))) = 0;

constexpr uint64_t kRetryNs = 100'000'000;  // between looks for a slot when there was none
constexpr uint32_t kRetiredBacklog = 32;    // retired slots that make a new thread wait for the collector first

// All copies of the library in this process see the thread's new slot at once.
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

// ---- Slots of the segment ------------------------------------------------------------------------------------------

bool change_state(SegmentHeader& header, uint32_t index, SlotState from, SlotState to) noexcept {
  auto expected = static_cast<uint32_t>(from);
  return header.slot_state[index].compare_exchange_strong(expected, static_cast<uint32_t>(to));
}

constexpr int kNoneLeft = -1, kNoMemory = -2;

int take_free_slot(SegmentHeader& header) noexcept {
  const uint32_t used = header.slots_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i)
    if (header.slot_state[i].load(std::memory_order_relaxed) == static_cast<uint32_t>(SlotState::Free) &&
        change_state(header, i, SlotState::Free, SlotState::Live))
      return static_cast<int>(i);
  return kNoneLeft;
}

// A slot nobody had before: its memory comes now, before anyone looks at it. Threads that do this at once do not wait
// for each other.
int take_new_slot(Process& shared, SegmentHeader& header) noexcept {
  uint32_t index = header.slots_used.load(std::memory_order_acquire);
  while (index < header.slot_capacity && !change_state(header, index, SlotState::Unused, SlotState::Allocating))
    ++index;
  if (index >= header.slot_capacity) return kNoneLeft;
  if (!allocate_slot(shared.mapping, shared.segment_path, index)) {
    header.slot_state[index].store(static_cast<uint32_t>(SlotState::Unused));
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

int take_slot(Process& shared, SegmentHeader& header) noexcept {
  int index = take_free_slot(header);
  if (index >= 0) return index;
  const auto take_free = [&] { return (index = take_free_slot(header)) >= 0; };
  const bool may_wait = header.policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(RingPolicy::Block) &&
                        header.collector_attached.load(std::memory_order_relaxed) != 0;
  // Threads that come and go faster than the collector looks must not make the segment grow without bound.
  if (may_wait && header.retired_slots.load(std::memory_order_relaxed) >= kRetiredBacklog &&
      wait_for_collector(header, take_free))
    return index;
  index = take_new_slot(shared, header);
  if (index == kNoneLeft && may_wait) wait_for_collector(header, take_free);
  return index;
}

}  // namespace

void count_loss_without_slot(SegmentHeader& header) noexcept {
  const uint64_t now = ticks();
  if (header.lost_without_slot.fetch_add(1, std::memory_order_relaxed) == 0)
    header.lost_without_slot_first.store(now, std::memory_order_relaxed);
  header.lost_without_slot_last.store(now, std::memory_order_relaxed);
}

// From the private slot to one in the segment. Null: there is none to be had.
Slot* enter_segment(Process& shared, Slot& from, Kind kind) noexcept {
  char why[256];
  SegmentHeader* header = shared.segment.load(std::memory_order_acquire);
  if (header == nullptr) {
    // A forked child's first record: its own collector first, which makes the segment, or the segment alone.
    const auto restart = shared.restart.load(std::memory_order_acquire);
    const bool external = shared.external.load(std::memory_order_relaxed);
    const bool ready = restart != nullptr ? restart() : external && ensure_segment(shared, why, sizeof why);
    header = shared.segment.load(std::memory_order_acquire);
    if (!ready || header == nullptr) {
      set_mode(shared, shared.mode.load() & ~kRecordingBit);
      return nullptr;
    }
    if (restart == nullptr) start_recording(shared);
  }
  // Having found none, a thread looks again only after a while: it must not wait anew for every record.
  const uint64_t now = nanoseconds(CLOCK_MONOTONIC_COARSE);
  const int index = now < from.retry_at ? kNoneLeft : take_slot(shared, *header);
  if (index < 0) {
    if (now >= from.retry_at) from.retry_at = nanoseconds(CLOCK_MONOTONIC_COARSE) + kRetryNs;
    if (kind != Kind::End) count_loss_without_slot(*header);
    return nullptr;
  }
  Slot& slot = slot_page(header, static_cast<uint32_t>(index))->slot;
  slot.busy.store(1, std::memory_order_relaxed);
  slot.depth = from.depth;
  slot.tid.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  slot.name_length = from.name_length;
  memcpy(slot.name, from.name, sizeof slot.name);
  slot.next_handle = from.next_handle;
  slot.last_handle = from.last_handle;
  slot.dropped_depth = 0;
  slot.lost_ends = 0;
  slot.side_dropped = slot.side_open = 0;
  slot.limit.store(0, std::memory_order_relaxed);
  slot.epoch = 0;
  slot.before = &from;
  set_this_slot(shared, &slot);
  from.busy.store(0, std::memory_order_relaxed);
  return &slot;
}

Slot** this_slot_address() noexcept { return &this_slot; }

Slot* find_slot() noexcept {
  if (this_slot != nullptr) return this_slot;
  if (forbidden) return nullptr;
  Process* shared = process();
  if (shared == nullptr) return nullptr;
  auto* slot = static_cast<Slot*>(pthread_getspecific(shared->slot_key));
  if (slot == nullptr) slot = make_private_slot();
  if (slot != nullptr) set_this_slot(*shared, slot);
  return slot;
}

void release_slot(void* pointer) noexcept {
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
  end_thread(slot, *header);
  slot.busy.store(0, std::memory_order_relaxed);
  // Nothing unread: the next thread may have it at once. Otherwise the collector frees it when it has read it.
  const bool unread = slot.head.load(std::memory_order_relaxed) != slot.tail.load(std::memory_order_acquire) ||
                      slot.side_count.load(std::memory_order_relaxed) != 0 || slot.lost_ends != 0 ||
                      slot.loss_pending.load(std::memory_order_relaxed) != 0;
  if (unread) header->retired_slots.fetch_add(1, std::memory_order_relaxed);
  header->slot_state[slot.index].store(static_cast<uint32_t>(unread ? SlotState::Retired : SlotState::Free),
                                       std::memory_order_release);
  if (header->retired_slots.load(std::memory_order_relaxed) >= kRetiredBacklog / 2) wake_collector(*header);
}

void leave_parents_slot(Process& shared) noexcept {
  auto* slot = static_cast<Slot*>(pthread_getspecific(shared.slot_key));
  if (slot == nullptr || slot->index == kPrivateSlot) return;
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
  if (Process* shared = process()) set_this_slot(*shared, nullptr);
}

}  // namespace kymo::record
