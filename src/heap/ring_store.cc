#include "heap/ring_store.h"

namespace kymo::heap {

bool store_record_slowly(record::Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t cells) noexcept {
  record::Slot* slot = record::own_slot();
  if (slot == nullptr) return false;
  if (slot->busy.load(std::memory_order_relaxed) != 0) {
    record::store_aside(*slot, kind, class_id, payload, cells);
    return true;
  }
  slot->busy.store(1, std::memory_order_relaxed);
  record::order_for_signals();
  uint64_t time = record::ticks();
  uint64_t head = slot->head.load(std::memory_order_relaxed);
  while (head + 1 + cells > slot->limit.load(std::memory_order_relaxed)) {
    slot = record::make_room(slot, kind, 1 + cells);
    if (slot == nullptr) return false;
    time = record::ticks();
    head = slot->head.load(std::memory_order_relaxed);
  }
  record::push_at(*slot, head, time, record::make_word(kind, cells, class_id), payload, cells);
  record::order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace kymo::heap
