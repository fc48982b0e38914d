// What a thread has stated in its ring for its later records, such as the nodes of its stacks.
//
// Readers know it as long as it is current: until the next recording, and until the thread gets another ring. A flight
// recorder keeps only the newest records of a ring, so there it must be stated again as the ring wraps. A thread uses
// its own object.
#pragma once

#include <cstdint>

#include "record/slots.h"

namespace kymo::record {

class Stated {
 public:
  bool is_current() const noexcept {
    return slot_ != nullptr && slot_ == this_slot && slot_->head.load(std::memory_order_relaxed) < until_ &&
           epoch_ == process_->epoch.load(std::memory_order_relaxed);
  }
  // From now on, with nothing stated. False: there is no ring. It may get one, which may allocate.
  bool begin() noexcept;

  uint32_t epoch() const noexcept { return epoch_; }
  // The same for all threads of a process, and another one in its forked children. Never 0.
  uint64_t recording() const noexcept { return uint64_t{pid_} << 32 | epoch_; }
  bool is_overwritten() const noexcept { return until_ != ~uint64_t{0}; }  // for a flight recorder
  // A signal handler has interrupted a store: there may be no space for more than one record.
  bool is_storing() const noexcept { return slot_->busy.load(std::memory_order_relaxed) != 0; }

 private:
  const Process* process_ = nullptr;
  Slot* slot_ = nullptr;
  uint64_t until_ = 0;  // a head of the ring
  uint32_t epoch_ = 0, pid_ = 0;
};

}  // namespace kymo::record
