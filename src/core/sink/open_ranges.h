// The open ranges across threads of a tool, by handle, with the value that the tool needs at their end.
//
// No lock and no allocation, so a signal handler may use it. Max kPlaces ranges at a time. A range that finds no free
// place near its hash is omitted, and its end is not found then.
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
  static constexpr uint32_t kNear = 64;  // number of places that one handle may use

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
  static constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // odd, and without a bit pattern
  static constexpr uint32_t kTopBits = 52;                 // 64 minus the bits of kPlaces

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
