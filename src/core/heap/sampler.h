// Selects the allocations to record in sampling mode. Each byte has the same chance, so large allocations are nearly
// always selected, and small ones in proportion. Each record says how many bytes it represents.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::heap {

// For one thread.
class Sampler {
 public:
  explicit Sampler(uint64_t seed = 1) noexcept : state_(seed | 1) {}

  // True if this allocation must be recorded. `mean` is the mean number of bytes between two samples. Usually costs one
  // subtraction.
  bool takes(uint64_t bytes, uint64_t mean) noexcept {
    const int64_t step = bytes < kMaxBytes ? static_cast<int64_t>(bytes) : int64_t{kMaxBytes};
    left_ -= step;
    return __builtin_expect(left_ < 0, 0) && begin_next(step, mean);
  }

 private:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

  bool begin_next(int64_t step, uint64_t mean) noexcept;
  int64_t draw(uint64_t mean) noexcept;

  uint64_t state_;
  int64_t left_ = 0;      // bytes until the next sample
  bool started_ = false;  // the first distance has been drawn
};

// How many bytes a sampled allocation of `bytes` represents: its size divided by its chance to be sampled.
uint64_t sample_weight(uint64_t bytes, uint64_t mean) noexcept;

// The addresses of sampled allocations that are not freed yet, for all threads. A free reads one cache line.
class SampledSet {
 public:
  constexpr SampledSet() = default;

  // False if the set is full at this address.
  bool add(uintptr_t address) noexcept {
    const uint64_t hash = hash_of(address);
    if (swap(first_line(hash), 0, address)) return true;
    if (!swap(second_line(hash), 0, address)) return false;
    spilled_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // True if it was found.
  bool remove(uintptr_t address) noexcept {
    const uint64_t hash = hash_of(address);
    if (swap(first_line(hash), address, 0)) return true;
    if (__builtin_expect(spilled_.load(std::memory_order_relaxed) == 0, 1)) return false;
    if (!swap(second_line(hash), address, 0)) return false;
    spilled_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr unsigned kLineBits = 13, kPlaces = 8;
  struct alignas(64) Line {
    std::atomic<uintptr_t> places[kPlaces];
  };

  static uint64_t hash_of(uintptr_t address) noexcept {
    const uint64_t mixed = (uint64_t{address} ^ uint64_t{address} >> 23) * 0x9e3779b97f4a7c15u;
    return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  }
  Line& first_line(uint64_t hash) noexcept { return lines_[hash >> (64 - kLineBits)]; }
  Line& second_line(uint64_t hash) noexcept { return lines_[hash >> 16 & ((1u << kLineBits) - 1)]; }

  static bool swap(Line& line, uintptr_t from, uintptr_t to) noexcept {
    for (auto& place : line.places) {
      uintptr_t expected = from;
      if (place.load(std::memory_order_relaxed) == from &&
          place.compare_exchange_strong(expected, to, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  Line lines_[1u << kLineBits] = {};
  std::atomic<uint32_t> spilled_{0};  // addresses that are in their second line
};

}  // namespace kymo::heap
