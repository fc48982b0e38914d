#include "record/store.h"

#include <string.h>

#include "record/loss.h"
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

SlotPage* page_of_this_thread() noexcept {
  Slot* slot = this_slot;
  // A slot in the segment is the first thing in its page.
  return slot != nullptr && slot->index != kPrivateSlot ? reinterpret_cast<SlotPage*>(slot) : nullptr;
}

// A text's first and last bytes: all of it where it has no more than 16.
struct Ends {
  uint64_t first = 0, last = 0;
  bool operator==(const Ends&) const = default;
};

Ends ends_of(const char* text, uint32_t length) noexcept {
  Ends ends;
  if (length >= 8) {
    memcpy(&ends.first, text, 8);
    memcpy(&ends.last, text + length - 8, 8);
  } else if (length >= 4) {
    memcpy(&ends.first, text, 4);
    memcpy(&ends.last, text + length - 4, 4);
  } else if (length > 0) {
    ends.first =
        static_cast<unsigned char>(text[0]) | static_cast<unsigned>(static_cast<unsigned char>(text[length / 2])) << 8;
    ends.last = static_cast<unsigned char>(text[length - 1]);
  }
  return ends;
}

// Spreads names over the cache by their ends and length; the name itself decides.
uint32_t cache_place(const Ends& ends, uint32_t length, uint64_t signature) noexcept {
  return static_cast<uint32_t>(((ends.first ^ (ends.last << 1) ^ signature ^ length) * 0x9e3779b97f4a7c15u) >> 58);
}
static_assert(kCachedNames == 64);

// The class that a place of the cache holds for this name; 0: another's. A signal handler may fill the place while we
// look: then its id is not the same before and after.
uint32_t cached_class(const CachedName& place, const kymo_label& label, const Ends& ends, uint64_t signature) noexcept {
  const uint32_t id = place.class_id;
  order_for_signals();
  const uint32_t length = label.name_length;
  if (id == 0 || place.signature != signature || place.length != length || ends_of(place.name, length) != ends)
    return 0;
  if (length > 16 && memcmp(place.name + 8, label.name + 8, length - 16) != 0) return 0;
  order_for_signals();
  return place.class_id == id ? id : 0;
}

// Not by a handler that came between: it would leave the place half its own.
void fill_cache(Slot& slot, CachedName& place, const CachedName& with) noexcept {
  if (slot.busy.load(std::memory_order_relaxed) != 0) return;
  slot.busy.store(1, std::memory_order_relaxed);
  place.class_id = 0;
  order_for_signals();
  place.signature = with.signature;
  place.name = with.name;
  place.length = with.length;
  order_for_signals();
  place.class_id = with.class_id;
  order_for_signals();
  slot.busy.store(0, std::memory_order_relaxed);
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
    if (place != nullptr) fill_cache(*this_slot, *place, {signature, class_name(registry, id), label.name_length, id});
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

__attribute__((noinline)) void store_any(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length,
                                         const kymo_arg* args, uint32_t count, const uint64_t* id) noexcept {
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

}  // namespace

FoundClass class_for(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  const uint64_t signature = signature_of(label, args, count);
  SlotPage* page = page_of_this_thread();
  if (page == nullptr) return class_from_registry(label, args, count, signature, nullptr);
  const Ends ends = ends_of(label.name, label.name_length);
  CachedName& place = page->names[cache_place(ends, label.name_length, signature)];
  if (const uint32_t id = cached_class(place, label, ends, signature); id != 0) return {id, false};
  return class_from_registry(label, args, count, signature, &place);
}

void store_event(Kind kind, uint32_t class_id, const char* inline_name, uint32_t inline_length, const kymo_arg* args,
                 uint32_t count, const uint64_t* id) noexcept {
  if (id == nullptr && inline_name == nullptr && count == 1 && args[0].type != KYMO_STRING) {
    const uint64_t payload[2] = {args[0].value.as_uint, 0};  // the common case: one number
    return store_payload(kind, class_id, payload, 1, false);
  }
  store_any(kind, class_id, inline_name, inline_length, args, count, id);
}

}  // namespace kymo::record
