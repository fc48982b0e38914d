// One thread that records into its part of a log.
//
// Only that thread writes here. The log ends on the profiler's thread, which must know that no other thread is in a
// call. So each call is between enter() and leave(). On other threads than the profiler's, enter() and the check that
// the log is still on have one order for all threads (a sequentially consistent exchange and load: some 10 ns, which
// the profiler's own thread does not need).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "counters/thread_group.h"
#include "edge/log.h"
#include "symbols/capture.h"

namespace kymo::edge {

class ThreadRecorder : public ThreadLog {
 public:
  // Create it on its own thread. `number`: the unique number of that thread.
  ThreadRecorder(const LogOptions& options, uint64_t number, bool owner);

  uint64_t number() const noexcept { return number_; }

  // False: the log has ended, or this thread is already in a call (an allocator that reports Kymo's own allocations).
  bool enter(const Log& log) noexcept {
    if (busy_.load(std::memory_order_relaxed) != 0) return false;
    if (owner_)
      busy_.store(1, std::memory_order_relaxed);
    else
      busy_.exchange(1, std::memory_order_seq_cst);
    if (__builtin_expect(log.on(), 1)) return true;
    leave();
    return false;
  }
  void leave() noexcept { busy_.store(0, std::memory_order_release); }
  bool busy() const noexcept { return busy_.load(std::memory_order_seq_cst) != 0; }

  // ---- Operations, between enter() and leave() ----
  uint32_t innermost() const noexcept { return innermost_; }
  bool is_innermost(const RawOperation& operation) const noexcept { return open_ == &operation; }
  // Drops those at the top that have ended on other threads or out of order.
  void settle() noexcept {
    while (open_ != nullptr && __builtin_expect(open_->over.load(std::memory_order_acquire), 0)) pop();
  }
  void push(RawOperation& operation, uint32_t number) noexcept {
    operation.parent = innermost_;
    innermost_ = number;
    open_ = &operation;
  }
  void pop() noexcept {  // and informs everything that received its begin
    const RawOperation& operation = *open_;
    innermost_ = operation.parent;
    open_ = innermost_ == kNothing ? nullptr : &operations[innermost_];
    if (__builtin_expect(operation.receivers != 0, 0)) kymo_end_heard(operation.receivers);
  }

  // Whether every operation has extras: its stack or its counts.
  bool always_has_extras() const noexcept { return always_has_extras_; }
  // Everything but the counts. Null: dropped, there is no memory.
  RawExtras* add_extras(RawOperation& operation, const OperationFacts& facts, const Inputs* inputs) noexcept;
  uint32_t begin_counts() noexcept;
  void end_counts(const RawOperation& operation) noexcept {
    const uint32_t at = extras_of(operation).counts;
    if (group_ && at != kNothing) group_->read(counts[at].end);
  }
  void end_counting() noexcept { group_.reset(); }  // once the log has ended

  uint64_t ended = 0;  // operations of this thread that it ended itself

 private:
  static constexpr size_t kDeepest = 128, kRecentStacks = 64;

  uint32_t add_stack() noexcept;  // kNothing: dropped

  const uint64_t number_;
  const bool owner_, wants_stacks_, always_has_extras_;
  std::atomic<uint32_t> busy_{0};
  RawOperation* open_ = nullptr;  // the innermost one
  uint32_t innermost_ = kNothing;
  std::optional<counters::ThreadGroup> group_;
  symbols::Method method_;
  std::array<uint32_t, kRecentStacks> recent_stacks_;  // by their hash
};

}  // namespace kymo::edge
