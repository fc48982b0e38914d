// Stores a record in the calling thread's ring when its words are already known. Does the same as record/store.h for
// events with arguments, but does not build the payload first, and says if the record was kept.
#pragma once

#include <cstdint>

#include "record/slow_path.h"
#include "record/store.h"

namespace kymo::heap {

// The slow path, which handles every case. `cells` payload cells with two words each.
bool store_record_slowly(record::Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t cells) noexcept;

// False: it was dropped (and counted, like every drop), or this thread may not record.
template <uint32_t kWords>
inline bool store_record(record::Kind kind, uint32_t class_id, const uint64_t (&payload)[kWords]) noexcept {
  static_assert(kWords % 2 == 0);
  constexpr uint32_t kCells = kWords / 2;
  record::Slot* slot = record::this_slot;
  if (__builtin_expect(slot == nullptr || slot->busy.load(std::memory_order_relaxed) != 0, 0))
    return store_record_slowly(kind, class_id, payload, kCells);
  slot->busy.store(1, std::memory_order_relaxed);
  record::order_for_signals();
  const uint64_t time = record::ticks();
  const uint64_t head = slot->head.load(std::memory_order_relaxed);
  if (__builtin_expect(head + 1 + kCells > slot->limit.load(std::memory_order_relaxed), 0)) {
    slot->busy.store(0, std::memory_order_relaxed);
    return store_record_slowly(kind, class_id, payload, kCells);
  }
  __builtin_prefetch(&slot->cells[(head + record::kPrefetchCells) & slot->mask], 1);
  record::push_at(*slot, head, time, record::make_word(kind, kCells, class_id), payload, kCells);
  record::order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace kymo::heap
