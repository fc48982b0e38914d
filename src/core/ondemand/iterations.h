// Iterations of the program: counted by kymo::step(), or by the names of its ranges if it never calls that.
//
// A step costs one addition, one load and one comparison. When an awaited iteration begins, the thread that begins it
// stores the time, so that the trace is cut there to the nanosecond, and wakes the agent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace kymo::ondemand {

// A sequence of iterations, numbered from 0. Any thread can begin one; one thread waits.
class Iterations {
 public:
  // `mark` records the begin, with its number: in the window from from_ns() to to_ns(), for both.
  template <typename Mark>
  void begin_one(Mark&& mark) noexcept {
    // Sequentially consistent with wait_for(), otherwise each of the two could miss the other.
    const uint64_t number = started_.fetch_add(1, std::memory_order_seq_cst);
    const bool may_be_awaited = number >= armed_.load(std::memory_order_seq_cst);
    if (__builtin_expect(may_be_awaited, 0)) begins(number);
    mark(number);
    if (__builtin_expect(may_be_awaited, 0)) has_begun(number);
  }
  void begin_one() noexcept {
    begin_one([](uint64_t) {});
  }
  uint64_t started() const noexcept { return started_.load(std::memory_order_relaxed); }

  // Waits for two iterations: from_ns() and to_ns() are the times when they began, 0 until then. False: `from` has
  // already started, and it does not wait.
  bool wait_for(uint64_t from, uint64_t to) noexcept;
  void wait_no_more() noexcept;
  uint64_t from_ns() const noexcept { return from_ns_.load(std::memory_order_acquire); }  // CLOCK_MONOTONIC
  uint64_t to_ns() const noexcept { return to_ns_.load(std::memory_order_acquire); }

  void restart() noexcept;  // from 0; not while a thread waits

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  void begins(uint64_t number) noexcept;
  void has_begun(uint64_t number) noexcept;

  std::atomic<uint64_t> started_{0}, armed_{kNone};
  std::atomic<uint64_t> from_{kNone}, to_{kNone}, from_ns_{0}, to_ns_{0};
};

// Counted by kymo::step(), while the process runs.
Iterations& stepped_iterations() noexcept;

// Counted by ranges, only between these two calls. False: there is no slot for one more sink (kymo/sink_calls.h).
bool watch_ranges() noexcept;
void stop_watching_ranges() noexcept;
Iterations& seen_iterations() noexcept;

// The first multiple of `roundup` (0 and 1: any number) that is not below `next`.
uint64_t first_iteration(uint64_t next, uint64_t roundup) noexcept;

}  // namespace kymo::ondemand
