// Iterations of the program: counted by kymo::step(), or seen in the names of its ranges where it never calls that.
//
// Counting costs a step one addition, one load and one comparison. When the iteration that is waited for begins, the
// moment is stored by the thread that begins it, so that a trace is cut there to the nanosecond, and the agent is
// woken.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace kymo::ondemand {

// A row of iterations, numbered from 0 as they begin. Any thread may begin one; one thread waits.
class Iterations {
 public:
  void begin_one() noexcept {
    // In one order with wait_for(), or each of the two could miss the other.
    const uint64_t number = begun_.fetch_add(1, std::memory_order_seq_cst);
    if (__builtin_expect(number >= armed_.load(std::memory_order_seq_cst), 0)) reached(number);
  }
  uint64_t begun() const noexcept { return begun_.load(std::memory_order_relaxed); }

  // Waits for two of them: the moments when they began are from_ns() and to_ns(), 0 until then. False: `from` has begun
  // already, and nothing is waited for.
  bool wait_for(uint64_t from, uint64_t to) noexcept;
  void wait_no_more() noexcept;
  uint64_t from_ns() const noexcept { return from_ns_.load(std::memory_order_acquire); }  // CLOCK_MONOTONIC
  uint64_t to_ns() const noexcept { return to_ns_.load(std::memory_order_acquire); }

  void restart() noexcept;  // from 0; not while someone waits

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  void reached(uint64_t number) noexcept;

  std::atomic<uint64_t> begun_{0}, armed_{kNone};
  std::atomic<uint64_t> from_{kNone}, to_{kNone}, from_ns_{0}, to_ns_{0};
};

// By kymo::step(), for as long as the process runs.
Iterations& stepped_iterations() noexcept;

// By ranges, counted only between these two calls. False: there is no place for one more sink (kymo/sink_calls.h).
bool watch_ranges() noexcept;
void stop_watching_ranges() noexcept;
Iterations& seen_iterations() noexcept;

// "step", "step 7", "iteration_3", "ProfilerStep#12", in any case; but not "stepper".
bool names_iteration(std::string_view name) noexcept;

// The first multiple of `roundup` (0 and 1: any) that is not below `next`.
uint64_t first_iteration(uint64_t next, uint64_t roundup) noexcept;

}  // namespace kymo::ondemand
