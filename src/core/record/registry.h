// Event classes by number. A name with its category, colour and fields is copied into the segment once, and events have
// only the number. Lock-free and append-only. A class lives as long as the segment. Equal registrations give one class.
#pragma once

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

}  // namespace kymo::record
