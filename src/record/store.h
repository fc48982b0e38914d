// Storing one event: from a call to cells in the calling thread's ring.
#pragma once

#include <cstdint>

#include "kymo/kymo.h"
#include "record/ring.h"
#include "record/room.h"
#include "record/thread.h"

namespace kymo::record {

// Keeps a signal handler's view of a store in order; costs nothing, it only binds the compiler.
inline void order_for_signals() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// The collector has read these lines a lap ago, so they are its processor's: asked back in time, a store does not wait.
inline constexpr uint64_t kPrefetchCells = 32;

// One cell into the thread's ring. The whole hot path of a range's two ends.
inline void store_cell(Kind kind, uint32_t class_id) noexcept {
  Slot* slot = own_slot();
  if (__builtin_expect(slot == nullptr, 0)) return;
  if (__builtin_expect(slot->busy.load(std::memory_order_relaxed) != 0, 0))
    return store_aside(*slot, kind, class_id, nullptr, 0);
  slot->busy.store(1, std::memory_order_relaxed);
  order_for_signals();
  // The clock first: what a signal handler puts aside before it lowers the limit and goes into the ring before us, what
  // it puts aside after is later than our time and goes in behind us.
  uint64_t time = ticks();
  uint64_t head = slot->head.load(std::memory_order_relaxed);
  while (__builtin_expect(head >= slot->limit.load(std::memory_order_relaxed), 0)) {
    slot = make_room(slot, kind, 1);
    if (slot == nullptr) return;
    time = ticks();
    head = slot->head.load(std::memory_order_relaxed);
  }
  Cell& cell = slot->cells[head & slot->mask];
  __builtin_prefetch(&slot->cells[(head + kPrefetchCells) & slot->mask], 1);
  cell.time.store(time, std::memory_order_relaxed);
  cell.word.store(make_word(kind, 0, class_id), std::memory_order_relaxed);
  slot->head.store(head + 1, std::memory_order_release);
  order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
}

// An event with a payload: `id` as its first word where the kind has one, then the arguments. Text that is too long for
// a record is cut, and that is counted.
void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept;

// The class of a label and its arguments; 0 with `inline_class` set to one that carries the name with each event.
struct FoundClass {
  uint32_t id;
  bool name_inline;
};
FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;

}  // namespace kymo::record
