// The tasks of ITT that a thread has open.
//
// Tasks nest within a domain. The end of a task closes the innermost one of its domain, together with tasks inside it
// whose ends did not come. An end without a task does nothing. Used by its thread alone.
#pragma once

#include <cstdint>

#include "kymo/annotate.h"

namespace kymo::inject::itt {

class OpenTasks {
 public:
  static constexpr uint32_t kDepth = 256;  // deeper tasks are not recorded

  void begin(const void* domain, const kymo_label& label) noexcept;
  void end(const void* domain) noexcept;

 private:
  struct Entry {
    const void* domain;
    uint32_t receivers;  // who got its begin, and gets its end
  };

  uint32_t depth_ = 0;
  uint32_t skipped_ = 0;  // begins without space
  Entry entries_[kDepth];
};

}  // namespace kymo::inject::itt
