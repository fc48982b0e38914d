// What of the heap is recorded: everything, a sample, nothing. KYMO_MALLOC says so when the program starts, and
// kymo_malloc_record() switches while it runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::heap {

struct HeapMode {
  uint64_t sample_bytes = 0;  // the mean distance between two samples; 0: everything is recorded
  bool on = true;
};

// "all", "off", "sample:BYTES" with a number and k, M or G for powers of 1024; case does not matter. False: none of
// those, and `mode` is as it was.
bool parse_heap_mode(const char* text, HeapMode& mode) noexcept;

// The process's. Loaded before each record: two relaxed loads.
extern std::atomic<uint32_t> heap_recorded;      // 0: nothing
extern std::atomic<uint64_t> heap_sample_bytes;  // as in HeapMode

// Reads KYMO_MALLOC. One line on standard error where it makes no sense, and then nothing is recorded.
void read_heap_mode() noexcept;

}  // namespace kymo::heap
