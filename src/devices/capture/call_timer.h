// The device time of each call, from the times that the runtime reports to its watchers (device/watcher.h).
//
// The user (a capture or a replay) announces each call before it is made, on the same thread. The work that this thread
// queues until the next call belongs to it. One user at a time.
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
  // Waits for queued work, at most some seconds. Returns the nanoseconds of each call by its number; 0: unknown.
  std::vector<uint64_t> stop();

  // No thread holds its lock during a fork; in the child nothing more is timed.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void abandon() { epoch_.fetch_add(1, std::memory_order_relaxed); }

  // For a launch only the kernel counts, not the copies of its lists.
  enum class Counts : uint8_t { Everything, Kernels };
  void begin_call(uint64_t call, Counts counts);
  void end_call() noexcept;  // work that this thread queues now belongs to no call
  // A call is announced before its work is queued. Waits, at most some seconds, until the calls of other threads are
  // queued: a call that failed in between is never queued.
  void wait_until_queued();

  uint64_t queued(const device::StreamState& stream, const device::Operation& operation) noexcept override;
  void completed(const device::StreamState& stream, const device::Operation& operation, uint64_t execution,
                 const device::OperationTimes& times) noexcept override;
  void lost(const device::StreamState& stream, const device::Operation& operation,
            uint64_t execution) noexcept override;

 private:
  std::atomic<uint64_t> epoch_{0};  // changes with each start: late results of earlier runs are dropped
  std::mutex mutex_;
  std::vector<uint64_t> times_;
  std::set<std::thread::id> announced_;  // threads whose last call is not queued yet
};

}  // namespace kymo::capture
