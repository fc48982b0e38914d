// Ranges across threads that are open in a tool, by their handle: what the tool wants to have back at their end.
//
// No lock and no allocation, so that a signal handler may use it. Room for kPlaces at once; a range that finds none
// near its place is left out, and then its end finds nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace kymo::sink {

template <class Value>
class OpenRanges {
 public:
  static constexpr uint32_t kPlaces = 4096;
  static constexpr uint32_t kNear = 64;  // places that one handle may have

  bool add(uint64_t handle, const Value& value) noexcept {
    for (uint32_t i = 0; i < kNear; ++i) {
      Place& place = place_of(handle, i);
      uint64_t expected = kFree;
      if (!place.handle.compare_exchange_strong(expected, kMoving, std::memory_order_acquire)) continue;
      place.value = value;
      place.handle.store(handle, std::memory_order_release);
      return true;
    }
    return false;
  }

  std::optional<Value> take(uint64_t handle) noexcept {
    for (uint32_t i = 0; i < kNear; ++i) {
      Place& place = place_of(handle, i);
      uint64_t expected = handle;
      if (!place.handle.compare_exchange_strong(expected, kMoving, std::memory_order_acquire)) continue;
      const Value value = place.value;
      place.handle.store(kFree, std::memory_order_release);
      return value;
    }
    return std::nullopt;
  }

 private:
  static constexpr uint64_t kFree = 0, kMoving = ~uint64_t{0};
  static constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // odd, and without a pattern
  static constexpr uint32_t kTopBits = 52;                 // 64 less those of kPlaces

  struct Place {
    std::atomic<uint64_t> handle;
    Value value;
  };

  Place& place_of(uint64_t handle, uint32_t i) noexcept {
    return places_[((handle * kSpread >> kTopBits) + i) & (kPlaces - 1)];
  }

  std::array<Place, kPlaces> places_{};
};

}  // namespace kymo::sink
