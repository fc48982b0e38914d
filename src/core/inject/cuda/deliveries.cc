#include "inject/cuda/deliveries.h"

#include <chrono>
#include <system_error>
#include <thread>

#include "base/quiet_thread.h"
#include "record/interfaces.h"

namespace kymo::inject::cuda {
namespace {

constexpr auto kAskEvery = std::chrono::milliseconds(100);  // what a program that is killed may lose

}  // namespace

void Deliveries::set_pending(bool is_pending) noexcept { record::set_pending(record::Interface::Cuda, is_pending); }

void Deliveries::wake() noexcept {
  {
    const std::lock_guard lock(waking_);
    awake_.store(true, std::memory_order_seq_cst);
    set_pending(true);
    if (!has_thread_) {
      try {
        base::quiet_thread("kymo-cuda", [this] { run(); }).detach();
        has_thread_ = true;
      } catch (const std::system_error&) {  // no thread is left: CUPTI delivers full buffers, and the rest at the end
      }
    }
  }
  wake_.notify_one();
}

void Deliveries::run() noexcept {
  while (true) {
    {
      std::unique_lock lock(waking_);
      wake_.wait(lock, [&] { return awake_.load(); });
    }
    std::this_thread::sleep_for(kAskEvery);
    const std::lock_guard lock(asking_);
    if (has_pending()) ask_();
    if (has_pending()) continue;
    set_pending(false);
    awake_.store(false, std::memory_order_seq_cst);
    if (!has_pending()) continue;
    awake_.store(true);  // an operation that was started in between
    set_pending(true);
  }
}

}  // namespace kymo::inject::cuda
