// How long the device took for each call: by the times that the runtime tells its watchers (device/watcher.h).
//
// The one who makes calls (a capture of a program's, a replay of its own) says so before each on the thread that makes
// it; what that thread queues until the next belongs to it. One user at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/watcher.h"

namespace kymo::capture {

class CallTimer final : public device::Watcher {
 public:
  static CallTimer& instance();  // never destroyed

  void start();
  // Waits for what was queued, at most some seconds. The nanoseconds of each call by its number; 0: not known.
  std::vector<uint64_t> stop();

  // Around a fork nobody holds its lock; in the child nothing more is timed.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void abandon() { epoch_.fetch_add(1, std::memory_order_relaxed); }

  // Of a launch only the kernel counts, not the lists that are copied for it.
  enum class Counts : uint8_t { Everything, Kernels };
  void begin_call(uint64_t call, Counts counts);
  void end_call() noexcept;  // what this thread queues now belongs to no call
  // A call is announced before its work is queued. Waits for what other threads announced, some seconds at most: a call
  // that failed in between is never queued.
  void wait_until_queued();

  uint64_t queued(const device::StreamState& stream, const device::Operation& operation) noexcept override;
  void completed(const device::StreamState& stream, const device::Operation& operation, uint64_t execution,
                 const device::OperationTimes& times) noexcept override;
  void lost(const device::StreamState& stream, const device::Operation& operation,
            uint64_t execution) noexcept override;

 private:
  std::atomic<uint64_t> epoch_{0};  // another with each start: what comes late belongs to nobody
  std::mutex mutex_;
  std::vector<uint64_t> times_;
  std::set<std::thread::id> announced_;  // threads whose last call is not queued yet
};

}  // namespace kymo::capture
