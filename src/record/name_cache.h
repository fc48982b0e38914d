// The names a thread used lately, and their classes: what makes a dynamic name as cheap as a call site's, nearly.
//
// It lies in the slot's page and is its thread's alone; only a signal handler on that thread may come between. Nothing
// here is a call, so that a push that finds its name needs no stack.
#pragma once

#include <string.h>

#include <cstdint>

#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::record {

// Keeps a signal handler's view of things in order; costs nothing, it only binds the compiler.
inline void order_for_signals() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class Word>
Word load(const char* text) noexcept {
  Word word;
  memcpy(&word, text, sizeof word);
  return word;
}

// A text's first and last bytes: all of it where it has no more than 16.
struct Ends {
  uint64_t first = 0, last = 0;
  bool operator==(const Ends&) const = default;
};

inline Ends ends_of(const char* text, uint32_t length) noexcept {
  if (length >= 8) return {load<uint64_t>(text), load<uint64_t>(text + length - 8)};
  if (length >= 4) return {load<uint32_t>(text), load<uint32_t>(text + length - 4)};
  if (length == 0) return {};
  return {load<uint8_t>(text), uint64_t{load<uint8_t>(text + length / 2)} << 8 | load<uint8_t>(text + length - 1)};
}

// What lies between the ends.
inline bool same_middle(const char* one, const char* other, uint32_t length) noexcept {
  for (uint32_t i = 8; i + 8 < length; i += 8)
    if (load<uint64_t>(one + i) != load<uint64_t>(other + i)) return false;
  return true;
}

// Where a name has its place in the cache, by its ends and length; the name itself decides.
inline CachedName& place_of(SlotPage& page, const Ends& ends, uint32_t length, uint64_t signature) noexcept {
  static_assert(kCachedNames == 64);
  return page.names[((ends.first ^ (ends.last << 1) ^ signature ^ length) * 0x9e3779b97f4a7c15u) >> 58];
}

// The class that a place holds for this name; 0: another's. A signal handler may fill the place while we look: then its
// id is not the same before and after.
inline uint32_t class_in(const CachedName& place, const kymo_label& label, const Ends& ends,
                         uint64_t signature) noexcept {
  const uint32_t id = place.class_id, length = label.name_length;
  order_for_signals();
  if (id == 0 || place.signature != signature || place.length != length || ends_of(place.name, length) != ends ||
      !same_middle(place.name, label.name, length))
    return 0;
  order_for_signals();
  return place.class_id == id ? id : 0;
}

// Not by a handler that came between: it would leave the place half its own.
inline void fill(Slot& slot, CachedName& place, const CachedName& with) noexcept {
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

}  // namespace kymo::record
