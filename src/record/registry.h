// Event classes by number: a name, its category, colour and fields are copied into the segment once, and events carry
// the number. Lock-free and append-only; a class lives as long as the segment. What is registered twice is one class.
#pragma once

#include <cstdint>

#include "kymo/kymo.h"
#include "record/layout.h"

namespace kymo::record {

// A number that stands for everything of a class but its name: its category, colour and fields. A bare name's is 0.
uint64_t full_signature(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
inline uint64_t signature_of(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept {
  return (label.category_length | label.colour | count) == 0 ? 0 : full_signature(label, args, count);
}

// The class of this label and these arguments' types and names. 0: the registry is full, or the name too long for it.
// `reserve`: may use what is kept back for the classes that inline names need.
uint32_t find_class(Registry&, const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t signature,
                    bool reserve = false) noexcept;

// Of the arena this much is there from the beginning. The rest comes with the names that need it, where the kernel
// knows how (5.14): most programs have few names, and a thousand may begin to record in the same moment.
inline constexpr uint32_t kArenaAtOnce = 64 << 10;
bool arena_comes_when_needed(const Registry&) noexcept;

// Gives a part of the arena its memory, before it is touched. False: shared memory is full.
bool make_arena(const Registry&, uint32_t offset, uint32_t bytes) noexcept;

// The name of a class in the registry.
const char* class_name(const Registry&, uint32_t class_id) noexcept;

uint64_t mix(uint64_t a, uint64_t b) noexcept;

}  // namespace kymo::record
