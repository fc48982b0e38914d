// Event classes by number. A name with its category, colour and fields is copied into the segment once, and events have
// only the number. Lock-free and append-only. A class lives as long as the segment. Equal registrations give one class.
#pragma once

#include <string.h>

#include <cstdint>

#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::record {

// A hash of everything in a class except its name: its category, colour and fields. 0 for only a name.
uint64_t full_signature(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
inline uint64_t signature_of(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  return (label.category_length | label.colour | count) == 0 ? 0 : full_signature(label, args, count);
}

// The class of this label with the types and names of these arguments. 0: the registry is full, or the name is too
// long. `reserve`: may use the space that is reserved for the classes of inline names.
uint32_t find_class(Registry&, const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t signature,
                    bool reserve = false) noexcept;

// This part of the arena has memory from the start. The rest gets memory when names need it, if the kernel supports
// this (5.14): most programs have few names, and a thousand programs may start to record at the same time.
inline constexpr uint32_t kArenaAtOnce = 64 << 10;
bool arena_comes_when_needed(const Registry&) noexcept;

// Allocates the memory of a part of the arena, before it is used. False: shared memory is full.
bool make_arena(const Registry&, uint32_t offset, uint32_t bytes) noexcept;

// The name of a class in the registry.
const char* class_name(const Registry&, uint32_t class_id) noexcept;

uint64_t mix(uint64_t a, uint64_t b) noexcept;

// ---- The recently used names of a thread, and their classes --------------------------------------------------------
//
// With it a dynamic name is nearly as cheap as a call site. It is in the slot's page, and only its thread uses it; only
// a signal handler on that thread may interrupt. There are no function calls here, so a push that finds its name needs
// no stack.

// Keeps the order of memory accesses for signal handlers. Costs nothing: it only restricts the compiler.
inline void order_for_signals() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class Word>
Word load(const char* text) noexcept {
  Word word;
  memcpy(&word, text, sizeof word);
  return word;
}

inline Ends ends_of(const char* text, uint32_t length) noexcept {
  if (length >= 8) return {load<uint64_t>(text), load<uint64_t>(text + length - 8)};
  if (length >= 4) return {load<uint32_t>(text), load<uint32_t>(text + length - 4)};
  if (length == 0) return {};
  return {load<uint8_t>(text), uint64_t{load<uint8_t>(text + length / 2)} << 8 | load<uint8_t>(text + length - 1)};
}

// Compares the part between the ends.
inline bool same_middle(const char* one, const char* other, uint32_t length) noexcept {
  if (length <= 16) return true;
  for (uint32_t i = 8; i + 8 < length; i += 8)
    if (load<uint64_t>(one + i) != load<uint64_t>(other + i)) return false;
  return true;
}

// Without a call of memcmp, which costs more than the comparison of a short text.
inline bool same_text(const char* one, const char* other, uint32_t length) noexcept {
  const Ends ends = ends_of(one, length), others = ends_of(other, length);
  return ends.first == others.first && ends.last == others.last && same_middle(one, other, length);
}

// The cache entry for a name, selected by its ends and length. The caller must compare the name.
inline CachedName& place_of(SlotPage& page, const Ends& ends, uint32_t length, uint64_t signature) noexcept {
  static_assert(kCachedNames == 64);
  return page.names[((ends.first ^ (ends.last << 1) ^ signature ^ length) * 0x9e3779b97f4a7c15u) >> 58];
}

// The class in this entry for this name; 0 if the entry is for another name. A signal handler may fill the entry at the
// same time: then the id before and after differ.
inline uint32_t class_in(const CachedName& place, const kymo_label& label, const Ends& ends,
                         uint64_t signature) noexcept {
  const uint32_t id = place.class_id;
  order_for_signals();
  if (id == 0 || place.signature != signature || place.length != label.name_length || place.ends.first != ends.first ||
      place.ends.last != ends.last || !same_middle(place.name, label.name, label.name_length))
    return 0;
  order_for_signals();
  return place.class_id == id ? id : 0;
}

// Does nothing in a signal handler that interrupted a store: it would leave the entry half filled.
inline void fill(Slot& slot, CachedName& place, const CachedName& with) noexcept {
  if (slot.busy.load(std::memory_order_relaxed) != 0) return;
  slot.busy.store(1, std::memory_order_relaxed);
  place.class_id = 0;
  order_for_signals();
  place.ends = with.ends;
  place.signature = with.signature;
  place.name = with.name;
  place.length = with.length;
  order_for_signals();
  place.class_id = with.class_id;
  order_for_signals();
  slot.busy.store(0, std::memory_order_relaxed);
}

}  // namespace kymo::record
