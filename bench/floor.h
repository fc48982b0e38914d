// The floor: the cost of a range that does only what is unavoidable.
//
// It is two reads of the processor's counter and two 16-byte stores {ticks, id} into a wrapping buffer of this thread.
// The buffer is as large as a ring and is reached through a thread_local. There is no check for space, no consumer, no
// call. No recorder that keeps two times can cost less. The state of the machine (its clock, other programs) affects
// the floor and every recorder in the same way. So every benchmark measures the floor in the same rounds as its
// candidate and reports a ratio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#include <ctime>
#endif

namespace bench {

inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
#endif
}

// A barrier for the compiler, not for the processor: earlier stores are in memory, and loops are not optimized away.
inline void keep() noexcept { asm volatile("" ::: "memory"); }

struct FloorCell {
  uint64_t ticks, id;
};
inline constexpr size_t kFloorCells = (1 << 20) / sizeof(FloorCell);

struct FloorBuffer {
  std::vector<FloorCell> cells = std::vector<FloorCell>(kFloorCells);
  uint64_t head = 0;
};
inline thread_local FloorBuffer* this_buffer = nullptr;

inline void floor_store(uint64_t id) noexcept {
  FloorBuffer& buffer = *this_buffer;
  buffer.cells[buffer.head++ & (kFloorCells - 1)] = {ticks(), id};
  keep();
}

inline void floor_range() noexcept {
  floor_store(1);
  floor_store(2);
}

}  // namespace bench
