// Stores one event: from a call to cells in the calling thread's ring.
#pragma once

#include <cstdint>

#include "kymo/kymo.h"
#include "record/registry.h"
#include "record/ring.h"
#include "record/slots.h"
#include "record/slow_path.h"

namespace kymo::record {

// The complete hot path of a record of known size: one cell, and `kCells` payload cells with two words each. `slot` is
// this_slot, now or since the caller began: a signal handler that moved the thread to another slot left no space in
// this one. False: the slow path must run first, as always if there is no counter (make_room). It makes no call, and
// its callers make only a tail call, so that nothing is stored on the stack. Stores to the stack would wait behind the
// stores to the ring, whose cache lines come from the collector's core.
template <uint32_t kCells>
__attribute__((always_inline)) inline bool try_store(Slot* slot, Kind kind, uint32_t class_id,
                                                     const uint64_t* words) noexcept {
  if (__builtin_expect(slot == nullptr || slot->busy.load(std::memory_order_relaxed) != 0, 0)) return false;
  slot->busy.store(1, std::memory_order_relaxed);
  order_for_signals();
  // Read the clock first. If a signal handler stores aside before this, it lowers the limit and its record goes into
  // the ring before ours. If it stores aside after this, its time is later than ours and its record goes after ours.
  const uint64_t time = counter();
  const uint64_t head = slot->head.load(std::memory_order_relaxed);
  if (__builtin_expect(head + kCells >= slot->limit.load(std::memory_order_relaxed), 0)) {
    slot->busy.store(0, std::memory_order_relaxed);
    return false;
  }
  prefetch_ahead(*slot, head);
  push_at(*slot, head, time, make_word(kind, kCells, class_id), words, kCells);
  order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
  return true;
}

// The same for every case and any number of cells. `truncated`: a text in it was cut, which is counted. False: the
// record was dropped (and counted, like every drop), or this thread may not record.
bool store_words(Kind kind, uint32_t class_id, const uint64_t* words, uint32_t cells, bool truncated = false) noexcept;

// Stores a record whose words are known.
template <uint32_t kWords>
inline bool store_record(Kind kind, uint32_t class_id, const uint64_t (&words)[kWords]) noexcept {
  static_assert(kWords % 2 == 0);
  return try_store<kWords / 2>(this_slot, kind, class_id, words) || store_words(kind, class_id, words, kWords / 2);
}

// The slow path of the above, which handles every case. `result` is returned unchanged.
__attribute__((noinline)) int store_slowly(Kind kind, uint32_t class_id, int result) noexcept;
__attribute__((noinline)) void store_number_slowly(Kind kind, uint32_t class_id, uint64_t number) noexcept;

// Stores one cell in the thread's ring. Returns `result`, so that the caller need not keep it. Always inlined: the read
// of the TSC keeps an x86 processor from fetching ahead, so every instruction around it counts.
__attribute__((always_inline)) inline int store_cell(Slot* slot, Kind kind, uint32_t class_id,
                                                     int result = 0) noexcept {
  return try_store<0>(slot, kind, class_id, nullptr) ? result : store_slowly(kind, class_id, result);
}
inline int store_cell(Kind kind, uint32_t class_id, int result = 0) noexcept {
  return store_cell(this_slot, kind, class_id, result);
}

// Stores an event with one number as its argument.
inline void store_number(Kind kind, uint32_t class_id, uint64_t number) noexcept {
  const uint64_t words[2] = {number, 0};
  if (!try_store<1>(this_slot, kind, class_id, words)) store_number_slowly(kind, class_id, number);
}

// Stores an event with a payload: `id` as its first word if the kind has one, then the arguments. Text that is too long
// for a record is truncated, and counted.
void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept;

// Stores a range of this thread that ends now, in one record.
void store_span(uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                uint32_t count, uint64_t start, uint64_t correlation) noexcept;

// The page of this thread in the segment; null: none (yet). The slot is at the start of its page.
inline SlotPage* page_of_this_thread() noexcept {
  Slot* slot = this_slot;
  return slot != nullptr && slot->index != kPrivateSlot ? reinterpret_cast<SlotPage*>(slot) : nullptr;
}

// What the calling thread is about to wait for, until wait_ended(). A collector that ends before the wait makes an open
// range of it. A thread without a slot in the segment states nothing.
struct StatedWait {
  uint64_t start, object, node, holder;
};
inline void state_wait(uint32_t class_id, const StatedWait& wait) noexcept {
  SlotPage* const page = page_of_this_thread();
  if (page == nullptr) return;
  Slot& slot = page->slot;
  slot.wait_class.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  slot.wait_start.store(wait.start, std::memory_order_relaxed);
  slot.wait_object.store(wait.object, std::memory_order_relaxed);
  slot.wait_node.store(wait.node, std::memory_order_relaxed);
  slot.wait_holder.store(wait.holder, std::memory_order_relaxed);
  slot.wait_class.store(class_id, std::memory_order_release);
}
inline void wait_ended() noexcept {
  if (SlotPage* const page = page_of_this_thread()) page->slot.wait_class.store(0, std::memory_order_relaxed);
}

// The class of a label and its arguments. With `name_inline` set, each event carries the name. `page` has the recently
// used names of this thread, or of the queue that is recorded; may be null.
struct FoundClass {
  uint32_t id;
  bool name_inline;
};
FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count, SlotPage* page) noexcept;
inline FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  return class_for(label, args, count, page_of_this_thread());
}

// Marks a site whose class did not fit into the registry: each event carries its name.
inline constexpr uint32_t kInlineSite = 0xffffffff;

// The class of a site, looked up once.
inline FoundClass class_at(kymo_site& site, const kymo_arg* args, uint32_t count, SlotPage* page) noexcept {
  const uint32_t known = site.class_id.load(std::memory_order_relaxed);
  if (__builtin_expect(known - 1 < kInlineSite - 1, 1)) return {known, false};
  const FoundClass found = class_for(site.label, args, count, page);
  site.class_id.store(found.name_inline ? kInlineSite : found.id, std::memory_order_relaxed);
  return found;
}
inline FoundClass class_at(kymo_site& site, const kymo_arg* args, uint32_t count) noexcept {
  return class_at(site, args, count, page_of_this_thread());
}

// The class of a name without category and colour that this thread used recently; 0: call class_for.
// `slot`: as for try_store. A slot without a ring has a page of its own too; its names are empty.
__attribute__((always_inline)) inline uint32_t recent_class(Slot* slot, const kymo_label& label) noexcept {
  if (__builtin_expect(slot == nullptr || (label.category_length | label.colour) != 0, 0)) return 0;
  const Ends ends = ends_of(label.name, label.name_length);
  return class_in(place_of(*reinterpret_cast<SlotPage*>(slot), ends, label.name_length, 0), label, ends, 0);
}

}  // namespace kymo::record
