// The numbers of rows in a viewer: its pids, or the tids of one pid. Each is given out once.
#pragma once

#include <cstdint>
#include <limits>
#include <set>

namespace kymo::convert {

class RowNumbers {
 public:
  // Viewers store numbers in 32 bits, signed.
  static constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
  // Linux uses no ids above 2^22, so invented ones start well above that.
  static constexpr uint64_t kFirstInvented = 10'000'000;

  // The system's own number; an invented one if that is taken or too large.
  uint64_t claim(uint64_t wanted) { return wanted <= kLargest && taken_.insert(wanted).second ? wanted : invent(); }
  // The first free number from here on.
  uint64_t claim_from(uint64_t lowest) {
    while (!taken_.insert(lowest).second) ++lowest;
    return lowest;
  }
  uint64_t invent() { return next_ = claim_from(next_); }

 private:
  std::set<uint64_t> taken_;
  uint64_t next_ = kFirstInvented;
};

// The place of the first device among the processes of a viewer, after all processes; as in Kineto.
inline constexpr uint64_t kFirstDeviceOrder = 5'000'000;

}  // namespace kymo::convert
