// The addresses of sampled allocations that are not freed yet, for all threads. A free reads one cache line.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::heap {

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
