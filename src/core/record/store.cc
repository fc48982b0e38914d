#include "record/store.h"

#include "record/layout.h"

namespace kymo::record {
namespace {

// For a name that the thread has not used recently. A separate function, so that the fast case needs no stack.
__attribute__((noinline)) FoundClass class_from_registry(const kymo_label& label, const kymo_arg* args, uint32_t count,
                                                         uint64_t signature, SlotPage* page,
                                                         CachedName* place) noexcept {
  Process* shared = process();
  if (shared == nullptr) return {0, false};
  SegmentHeader* header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) {
    // A forked child that has not recorded yet: its first event creates the segment.
    if (enter_ring(Kind::Pad) == nullptr) return {0, true};
    header = shared->segment.load(std::memory_order_acquire);
    if (header == nullptr) return {0, true};
    place = nullptr;
  }
  Registry& registry = header->registry;
  if (const uint32_t id = find_class(registry, label, args, count, signature); id != 0) {
    if (place != nullptr)
      fill(page->slot, *place,
           {ends_of(label.name, label.name_length), signature, class_name(registry, id), label.name_length, id});
    return {id, false};
  }
  // Above the limit, all such names share one class. It has one placeholder, which each event fills with its own name.
  kymo_arg shifted[kMaxStoredArgs + 1];
  shifted[0] = {nullptr, {}, 0, KYMO_STRING};
  if (count > kMaxStoredArgs - 1) count = kMaxStoredArgs - 1;
  for (uint32_t i = 0; i < count; ++i) shifted[i + 1] = args[i];
  kymo_label any = label;
  any.name = "{}";
  any.name_length = 2;
  return {find_class(registry, any, shifted, count + 1, signature_of(any, shifted, count + 1), true), true};
}

}  // namespace

bool store_words(Kind kind, uint32_t class_id, const uint64_t* words, uint32_t cells, bool truncated) noexcept {
  Slot* slot = own_slot();
  if (slot == nullptr) return false;
  if (slot->busy.load(std::memory_order_relaxed) != 0) {
    store_aside(*slot, kind, class_id, words, cells);
    return true;
  }
  slot->busy.store(1, std::memory_order_relaxed);
  order_for_signals();
  uint64_t time = ticks();
  uint64_t head = slot->head.load(std::memory_order_relaxed);
  // A span ends when the call arrives here. The time to get a ring for the thread does not belong to the call.
  const bool keep_time = kind == Kind::Span && slot->index == kPrivateSlot;
  while (__builtin_expect(head + 1 + cells > slot->limit.load(std::memory_order_relaxed), 0)) {
    slot = make_room(slot, kind, class_id, 1 + cells);
    if (slot == nullptr) return false;
    if (!keep_time) time = ticks();
    head = slot->head.load(std::memory_order_relaxed);
  }
  prefetch_ahead(*slot, head);
  push_at(*slot, head, time, make_word(kind, cells, class_id), words, cells);
  if (__builtin_expect(truncated, 0)) count_loss(*slot, kLossTextTruncated, 1);
  order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
  return true;
}

int store_slowly(Kind kind, uint32_t class_id, int result) noexcept {
  store_words(kind, class_id, nullptr, 0);
  return result;
}

void store_number_slowly(Kind kind, uint32_t class_id, uint64_t number) noexcept {
  const uint64_t payload[2] = {number, 0};
  store_words(kind, class_id, payload, 1);
}

FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count, SlotPage* page) noexcept {
  const uint64_t signature = signature_of(label, args, count);
  if (page == nullptr) return class_from_registry(label, args, count, signature, nullptr, nullptr);
  const Ends ends = ends_of(label.name, label.name_length);
  CachedName& place = place_of(*page, ends, label.name_length, signature);
  if (const uint32_t id = class_in(place, label, ends, signature); id != 0) return {id, false};
  return class_from_registry(label, args, count, signature, page, &place);
}

void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept {
  Payload payload;
  if (id != nullptr) payload.put(*id);
  payload.put_event(inline_name, inline_length, args, count);
  store_words(kind, class_id, payload.words(), payload.cells(), payload.truncated());
}

void store_span(uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                uint32_t count, uint64_t start, uint64_t correlation) noexcept {
  Payload payload;
  payload.put(start);
  payload.put(correlation);
  payload.put_event(inline_name, inline_length, args, count);
  store_words(Kind::Span, class_id, payload.words(), payload.cells(), payload.truncated());
}

}  // namespace kymo::record
