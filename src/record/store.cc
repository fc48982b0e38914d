#include "record/store.h"

#include <string.h>

#include "record/loss.h"
#include "record/name_cache.h"
#include "record/registry.h"

namespace kymo::record {
namespace {

constexpr uint32_t kMaxPayloadWords = 512;  // 4 KiB: a record fits into a block of the smallest ring
constexpr uint32_t kMaxStoredArgs = 32;

// Words of a record's payload on the stack, until it is known how many there are.
class Payload {
 public:
  void put(uint64_t word) noexcept {
    if (used_ < kMaxPayloadWords) words_[used_++] = word;
  }
  // The length, then the bytes. `keep` words are left for what comes after.
  void put_text(const char* text, uint64_t length, uint32_t keep) noexcept {
    const uint64_t room = kMaxPayloadWords - used_ > keep + 1 ? (kMaxPayloadWords - used_ - keep - 1) * 8 : 0;
    if (length > room) {
      length = room;
      truncated_ = true;
    }
    put(length);
    const auto words = static_cast<uint32_t>((length + 7) / 8);
    if (words == 0) return;
    words_[used_ + words - 1] = 0;
    memcpy(words_ + used_, text, length);
    used_ += words;
  }
  const uint64_t* words() noexcept {
    if (used_ % 2 != 0) words_[used_] = 0;
    return words_;
  }
  uint32_t cells() const noexcept { return (used_ + 1) / 2; }
  bool truncated() const noexcept { return truncated_; }
  void truncate() noexcept { truncated_ = true; }

 private:
  uint32_t used_ = 0;
  bool truncated_ = false;
  uint64_t words_[kMaxPayloadWords + 1];
};

void store_payload(Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t cells, bool truncated) noexcept {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  if (slot->busy.load(std::memory_order_relaxed) != 0) return store_aside(*slot, kind, class_id, payload, cells);
  slot->busy.store(1, std::memory_order_relaxed);
  order_for_signals();
  uint64_t time = ticks();
  uint64_t head = slot->head.load(std::memory_order_relaxed);
  while (__builtin_expect(head + 1 + cells > slot->limit.load(std::memory_order_relaxed), 0)) {
    slot = make_room(slot, kind, 1 + cells);
    if (slot == nullptr) return;
    time = ticks();
    head = slot->head.load(std::memory_order_relaxed);
  }
  push_at(*slot, head, time, make_word(kind, cells, class_id), payload, cells);
  if (__builtin_expect(truncated, 0)) count_loss(*slot, kLossTextTruncated, 1);
  order_for_signals();
  slot->busy.store(0, std::memory_order_relaxed);
}

// The way of a name that the thread has not used lately. Apart, so that the other way needs no stack.
__attribute__((noinline)) FoundClass class_from_registry(const kymo_label& label, const kymo_arg* args, uint32_t count,
                                                         uint64_t signature, CachedName* place) noexcept {
  Process* shared = process();
  if (shared == nullptr) return {0, false};
  SegmentHeader* header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) {
    // A forked child that has not recorded yet: its first event makes the segment.
    if (enter_ring() == nullptr) return {0, true};
    header = shared->segment.load(std::memory_order_acquire);
    if (header == nullptr) return {0, true};
    place = nullptr;
  }
  Registry& registry = header->registry;
  if (const uint32_t id = find_class(registry, label, args, count, signature); id != 0) {
    if (place != nullptr) fill(*this_slot, *place, {signature, class_name(registry, id), label.name_length, id});
    return {id, false};
  }
  // Past the bound: the same class for all such names, whose one place is filled with each event's own.
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

int store_slowly(Kind kind, uint32_t class_id, int result) noexcept {
  store_payload(kind, class_id, nullptr, 0, false);
  return result;
}

void store_number_slowly(Kind kind, uint32_t class_id, uint64_t number) noexcept {
  const uint64_t payload[2] = {number, 0};
  store_payload(kind, class_id, payload, 1, false);
}

FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  const uint64_t signature = signature_of(label, args, count);
  SlotPage* page = page_of_this_thread();
  if (page == nullptr) return class_from_registry(label, args, count, signature, nullptr);
  const Ends ends = ends_of(label.name, label.name_length);
  CachedName& place = place_of(*page, ends, label.name_length, signature);
  if (const uint32_t id = class_in(place, label, ends, signature); id != 0) return {id, false};
  return class_from_registry(label, args, count, signature, &place);
}

void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept {
  Payload payload;
  if (id != nullptr) payload.put(*id);
  if (count > kMaxStoredArgs) {
    count = kMaxStoredArgs;
    payload.truncate();
  }
  if (inline_name != nullptr) payload.put_text(inline_name, inline_length, count);
  for (uint32_t i = 0; i < count; ++i) {
    if (args[i].type == KYMO_STRING)
      payload.put_text(args[i].value.as_text, args[i].length, count - 1 - i);
    else
      payload.put(args[i].value.as_uint);
  }
  store_payload(kind, class_id, payload.words(), payload.cells(), payload.truncated());
}

}  // namespace kymo::record
