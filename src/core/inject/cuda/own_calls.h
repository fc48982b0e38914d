// Calls of Kymo's own device runtime (src/devices/device/cuda). It records its work itself, so CUPTI's view of it is left out.
//
// The runtime may be another copy of Kymo's code in the process. It finds kymo_inject_cuda_calls() in
// libkymo_inject.so, and counts there, for each thread, how many of its functions are calling CUDA.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::inject::cuda {

// Is the runtime calling, on this thread?
bool is_own_call() noexcept;

// Work of the runtime is known by its call: the call is remembered when it is made, and forgotten when the work has
// finished. A fixed table, without locks: numbers of calls increase by one, and repeat after a million.
class OwnWork {
 public:
  void remember(uint32_t correlation) noexcept {
    word_of(correlation).fetch_or(bit_of(correlation), std::memory_order_relaxed);
  }
  // True if it was remembered. A graph has one number and may have several pieces of work, so it stays remembered.
  bool contains(uint32_t correlation) const noexcept {
    return (word_of(correlation).load(std::memory_order_relaxed) & bit_of(correlation)) != 0;
  }
  // A call of the program: its number may have been one of the runtime's a million calls ago.
  void forget(uint32_t correlation) noexcept {
    std::atomic<uint64_t>& word = word_of(correlation);
    if ((word.load(std::memory_order_relaxed) & bit_of(correlation)) != 0)
      word.fetch_and(~bit_of(correlation), std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kNumbers = 1 << 20;
  static uint64_t bit_of(uint32_t correlation) noexcept { return uint64_t{1} << (correlation % 64); }
  std::atomic<uint64_t>& word_of(uint32_t correlation) noexcept { return words_[correlation % kNumbers / 64]; }
  const std::atomic<uint64_t>& word_of(uint32_t correlation) const noexcept {
    return words_[correlation % kNumbers / 64];
  }
  std::atomic<uint64_t> words_[kNumbers / 64] = {};
};

}  // namespace kymo::inject::cuda
