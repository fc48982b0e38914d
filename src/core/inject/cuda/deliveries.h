// CUPTI delivers a buffer of records when it is full. This asks for the rest ten times a second while the program has
// work on a device, so that a program that is killed loses little. The thread sleeps while no work is pending.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace kymo::inject::cuda {

class Deliveries {
 public:
  // `ask` makes CUPTI deliver what is complete. Called on a thread of this object, never at the same time as `finish`.
  explicit Deliveries(void (*ask)()) : ask_(ask) {}

  // A call of the program has started one operation. Costs an addition.
  void started() noexcept {
    started_.fetch_add(1, std::memory_order_seq_cst);
    if (!awake_.load(std::memory_order_seq_cst)) wake();
  }

  // So many operations were delivered. Kernels inside a graph whose launch is one operation do not count.
  void delivered(uint64_t operations) noexcept { delivered_.fetch_add(operations, std::memory_order_seq_cst); }

  // Calls `deliver_all`, which delivers everything there is. Nothing is pending afterwards.
  template <class Deliver>
  void finish(Deliver deliver_all) noexcept {
    const std::lock_guard lock(asking_);
    deliver_all();
    delivered_.store(started_.load());
    set_pending(false);
  }

  // Operations inside a stream's capture are started, but never run: then this stays true.
  bool has_pending() const noexcept { return delivered_.load() < started_.load(); }

 private:
  void wake() noexcept;
  void run() noexcept;
  static void set_pending(bool is_pending) noexcept;

  void (*const ask_)();
  std::atomic<uint64_t> started_{0}, delivered_{0};
  std::atomic<bool> awake_{false};
  std::mutex asking_, waking_;
  std::condition_variable wake_;
  bool has_thread_ = false;
};

}  // namespace kymo::inject::cuda
