// Turns calls of malloc and free into records. An allocation has its address, size and stack; a free has its address.
//
//   "malloc"      Allocation; its id is the address; {bytes, node}, and {weight} if it is a sample
//   "free"        Free; its id is the address
//   "stack node"  Instant {node, parent, address}, on the same track, before the first allocation with that node
//   "module"      Instant {path, base, size, build_id}: the file that contains the addresses
//
// Other records of the program's threads use the same nodes (record_with_stack).
//
// Nodes are numbered per track. Nodes below kFirstNode are roots (unwind/stack_tree.h). A free of a block whose
// allocation was not recorded, because it was earlier, is also in the trace. Any thread may call these functions, also
// in signal handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/process.h"
#include "unwind/stack_tree.h"
#include "unwind/walk.h"

namespace kymo::heap {

// The only check that runs in a program that is not recorded.
inline bool heap_is_watched() noexcept { return record::recording(); }

// `address` was just allocated for `caller`.
void heap_allocated(uintptr_t address, size_t bytes, const unwind::Registers& caller) noexcept;

// Call it before `address` is freed, because another thread may get the same address immediately after. True: recorded.
bool heap_returns(uintptr_t address) noexcept;

// Reverts heap_returns(): the block still exists, with this size. For a realloc that failed.
void heap_keeps(uintptr_t address, size_t bytes, const unwind::Registers& caller) noexcept;

// Calls `store` with the stack of `caller`, so that a record that is stored there can name it. Not inside Kymo's own
// work, and not in a signal handler that has interrupted it.
void record_with_stack(const unwind::Registers& caller, void (*store)(void* context, unwind::Node stack) noexcept,
                       void* context) noexcept;

// While one exists, what the calling thread allocates and frees is Kymo's own, and is not recorded.
class OwnWork {
 public:
  OwnWork() noexcept;
  ~OwnWork();
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  uint8_t before_;
};

// Code was unloaded: cached data about addresses is not valid any more.
void heap_code_unloaded() noexcept;

// What is recorded of the heap: everything, a sample, or nothing. KYMO_MALLOC sets it when the program starts, and
// kymo_malloc_record() changes it at run time.
struct HeapMode {
  uint64_t sample_bytes = 0;  // the mean distance between two samples; 0: everything is recorded
  bool on = true;
};

// Parses "all", "off" or "sample:BYTES"; BYTES is a number with k, M or G for powers of 1024. Case is ignored. Returns
// false for any other text, and `mode` is unchanged then.
bool parse_heap_mode(const char* text, HeapMode& mode) noexcept;

// The mode of the process. Read before each record: two relaxed loads.
extern std::atomic<uint32_t> heap_recorded;      // 0: nothing
extern std::atomic<uint64_t> heap_sample_bytes;  // as in HeapMode

// Reads KYMO_MALLOC. If its value is not valid, prints one line to standard error, and nothing is recorded.
void read_heap_mode() noexcept;

}  // namespace kymo::heap
