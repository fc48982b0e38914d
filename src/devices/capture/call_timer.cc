#include "capture/call_timer.h"

#include <chrono>
#include <new>
#include <utility>

#include "device/work_capture.h"

namespace kymo::capture {
namespace {

constexpr uint64_t kLongestWaitNs = 10'000'000'000;
constexpr unsigned kCallBits = 44;  // of an execution's number; the rest is the epoch

struct CurrentCall {
  uint64_t epoch = 0, call = 0;
  CallTimer::Counts counts = CallTimer::Counts::Everything;
  bool is_open = false;
};
thread_local constinit CurrentCall current_call;

constexpr uint64_t epoch_bits(uint64_t epoch) { return epoch << kCallBits; }

}  // namespace

CallTimer& CallTimer::instance() {
  static auto& one = *new CallTimer;
  return one;
}

void CallTimer::start() {
  {
    std::lock_guard lock(mutex_);
    times_.clear();
    announced_.clear();
    epoch_.fetch_add(1, std::memory_order_relaxed);
  }
  device::set_watcher(device::WatcherRole::Capture, this);
}

std::vector<uint64_t> CallTimer::stop() {
  device::report_completed(kLongestWaitNs);
  device::set_watcher(device::WatcherRole::Capture, nullptr);
  std::lock_guard lock(mutex_);
  epoch_.fetch_add(1, std::memory_order_relaxed);
  return std::exchange(times_, {});
}

void CallTimer::begin_call(uint64_t call, Counts counts) {
  current_call = {epoch_.load(std::memory_order_relaxed), call, counts, true};
  std::lock_guard lock(mutex_);
  announced_.insert(std::this_thread::get_id());
}

void CallTimer::end_call() noexcept { current_call.is_open = false; }

void CallTimer::wait_until_queued() {
  constexpr auto kLongest = std::chrono::seconds(10);
  constexpr auto kLook = std::chrono::microseconds(100);
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  while (std::chrono::steady_clock::now() < deadline) {
    {
      std::lock_guard lock(mutex_);
      announced_.erase(std::this_thread::get_id());
      if (announced_.empty()) return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

uint64_t CallTimer::queued(const device::StreamState&, const device::Operation& operation) noexcept {
  const CurrentCall& current = current_call;
  if (!current.is_open || device::detail::in_capture) return 0;
  if (current.epoch != epoch_.load(std::memory_order_relaxed)) return 0;
  if (current.counts == Counts::Kernels && operation.kind != device::OperationKind::Kernel) return 0;
  {
    std::lock_guard lock(mutex_);
    announced_.erase(std::this_thread::get_id());
  }
  return epoch_bits(current.epoch) | (current.call + 1);
}

void CallTimer::completed(const device::StreamState&, const device::Operation&, uint64_t execution,
                          const device::OperationTimes& times) noexcept {
  const uint64_t call = execution & (epoch_bits(1) - 1);
  if (call == 0) return;
  std::lock_guard lock(mutex_);
  if (epoch_bits(epoch_.load(std::memory_order_relaxed)) != (execution & ~(epoch_bits(1) - 1))) return;
  try {
    if (times_.size() < call) times_.resize(call);
  } catch (const std::bad_alloc&) {
    return;  // then its time is unknown
  }
  times_[call - 1] += times.gpu_ns;
}

void CallTimer::lost(const device::StreamState&, const device::Operation&, uint64_t) noexcept {}

}  // namespace kymo::capture
