// What is recorded of the heap: everything, a sample, or nothing. KYMO_MALLOC sets it when the program starts, and
// kymo_malloc_record() changes it at run time.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::heap {

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
