// From calls of malloc and free to records: an allocation says where, how much and from which stack, a return where.
//
//   "malloc"      Allocation; its id is the address; {bytes, node}, and {weight} where a sample was taken
//   "free"        Free; its id is the address
//   "stack node"  Instant {node, parent, address}, on the same track before the first allocation that names the node
//   "module"      Instant {path, base, size, build_id}: whose code the addresses are (known_code.h)
//
// Nodes are numbered by track; those below kFirstNode are roots (unwind/stack_tree.h). A return of what was not
// recorded, because it was there earlier, is in the trace all the same. Any thread, also in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/process.h"
#include "unwind/registers.h"

namespace kymo::heap {

// The one question that a program asks which is not recorded.
inline bool heap_is_watched() noexcept { return record::recording(); }

// `address` was just allocated, on behalf of `caller`.
void heap_allocated(uintptr_t address, size_t bytes, const unwind::Registers& caller) noexcept;

// It is about to be returned: said before, because the next one may have it at once. True: it was recorded.
bool heap_returns(uintptr_t address) noexcept;

// What was said about it was wrong: it is still there, with these bytes. For a realloc that failed.
void heap_keeps(uintptr_t address, size_t bytes, const unwind::Registers& caller) noexcept;

// Code was unloaded: what is remembered of addresses no longer holds.
void heap_code_unloaded() noexcept;

}  // namespace kymo::heap
