// Storing one event: from a call to cells in the calling thread's ring.
#pragma once

#include <cstdint>

#include "kymo/kymo.h"
#include "record/name_cache.h"
#include "record/ring.h"
#include "record/slow_path.h"
#include "record/thread.h"

namespace kymo::record {

// The collector has read these lines a lap ago, so they are its processor's: asked back in time, a store does not wait.
inline constexpr uint64_t kPrefetchCells = 32;

// The whole hot path of a range's two ends: a record of one cell, or of two with a `number`. False: the thread has to
// see to something first. It makes no call, and whoever uses it makes only a last one, so that nothing is kept on the
// stack: stores there would queue behind the ring's own, whose lines come back from the collector's processor.
__attribute__((always_inline)) inline bool try_store(Kind kind, uint32_t class_id, const uint64_t* number) noexcept {
  Slot* slot = this_slot;
  if (__builtin_expect(slot == nullptr || slot->busy.load(std::memory_order_relaxed) != 0, 0)) return false;
  slot->busy.store(1, std::memory_order_relaxed);
  order_for_signals();
  // The clock first: what a signal handler puts aside before it lowers the limit and goes into the ring before us, what
  // it puts aside after is later than our time and goes in behind us.
  const uint64_t time = ticks();
  const uint64_t head = slot->head.load(std::memory_order_relaxed);
  const uint32_t payload_cells = number != nullptr ? 1 : 0;
  if (__builtin_expect(head + payload_cells >= slot->limit.load(std::memory_order_relaxed), 0)) {
    slot->busy.store(0, std::memory_order_relaxed);
    return false;
  }
  __builtin_prefetch(&slot->cells[(head + kPrefetchCells) & slot->mask], 1);
  const uint64_t payload[2] = {number != nullptr ? *number : 0, 0};
  push_at(*slot, head, time, make_word(kind, payload_cells, class_id), payload, payload_cells);
  order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
  return true;
}

// The same, whatever there is to see to. `result` is handed through.
int store_slowly(Kind kind, uint32_t class_id, int result) noexcept;
void store_number_slowly(Kind kind, uint32_t class_id, uint64_t number) noexcept;

// One cell into the thread's ring. Returns `result`, which its caller then need not keep.
inline int store_cell(Kind kind, uint32_t class_id, int result = 0) noexcept {
  return try_store(kind, class_id, nullptr) ? result : store_slowly(kind, class_id, result);
}

// An event with one number for its arguments.
inline void store_number(Kind kind, uint32_t class_id, uint64_t number) noexcept {
  if (!try_store(kind, class_id, &number)) store_number_slowly(kind, class_id, number);
}

// An event with a payload: `id` as its first word where the kind has one, then the arguments. Text that is too long for
// a record is cut, and that is counted.
void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept;

// A range of this thread that ends now, in one record.
void store_span(uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                uint32_t count, uint64_t start, uint64_t correlation) noexcept;

// This thread's page in the segment; null: it has none (yet). A slot there is the first thing in its page.
inline SlotPage* page_of_this_thread() noexcept {
  Slot* slot = this_slot;
  return slot != nullptr && slot->index != kPrivateSlot ? reinterpret_cast<SlotPage*>(slot) : nullptr;
}

// The class of a label and its arguments; with `name_inline` set one that carries the name with each event. `page` has
// the names used lately: this thread's, or the queue's that is recorded on. Null: none.
struct FoundClass {
  uint32_t id;
  bool name_inline;
};
FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count, SlotPage* page) noexcept;
inline FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  return class_for(label, args, count, page_of_this_thread());
}

// In a site whose class did not fit into the registry: its name goes with each event.
inline constexpr uint32_t kInlineSite = 0xffffffff;

// A site's, found once.
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

// The class of a bare name that this thread used lately; 0: ask class_for.
inline uint32_t recent_class(const kymo_label& label) noexcept {
  SlotPage* page = page_of_this_thread();
  if (__builtin_expect(page == nullptr || (label.category_length | label.colour) != 0, 0)) return 0;
  const Ends ends = ends_of(label.name, label.name_length);
  return class_in(place_of(*page, ends, label.name_length, 0), label, ends, 0);
}

}  // namespace kymo::record
