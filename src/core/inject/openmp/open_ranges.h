// The ranges that a thread has open for OpenMP, and the rule for ends that do not come.
//
// A runtime may leave out the end of a region, or report it late and with other data than its begin. So an end closes
// the innermost open range of its kind, together with the ranges inside it. An end without such a range does nothing. A
// range that began while nothing recorded has no end in the trace. Used by its thread alone.
#pragma once

#include <cstdint>

#include "kymo/annotate.h"

namespace kymo::inject::openmp {

enum class RangeKind : uint8_t { Parallel, Member, Work, Sync, Idle, Mutex, Task };

class OpenRanges {
 public:
  static constexpr uint32_t kDepth = 256;  // deeper ranges are not recorded

  // `object` tells ranges of one kind apart; null: the innermost one is meant.
  void begin(RangeKind kind, Site& site, const kymo_arg* args, uint32_t count, const void* object = nullptr) noexcept;
  // False: there is no such range.
  bool end(RangeKind kind, const void* object = nullptr) noexcept;
  void end_all() noexcept;

  bool has(RangeKind kind, const void* object = nullptr) const noexcept { return find(kind, object) >= 0; }

 private:
  struct Entry {
    const void* object;
    uint32_t receivers;  // who got its begin, and gets its end
    RangeKind kind;
  };

  int find(RangeKind kind, const void* object) const noexcept;
  void end_top() noexcept;

  uint32_t depth_ = 0;
  uint32_t skipped_ = 0;  // begins without space
  Entry entries_[kDepth];
};

}  // namespace kymo::inject::openmp
