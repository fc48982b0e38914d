// The errors that kernels of one stream report: TORCH_REPORT_ERROR of c10/metal/error.h writes them here, and the next
// call that waits for the kernels throws them.
//
//   4 bytes        how many were reported, including those that did not fit
//   30 × 512       file (128), function (128), text (250), line (4, aligned)
//
// Each text ends with a zero byte, or at the end of its field.
//
// Allocated and zeroed when a kernel of the stream first needs it, in memory that does not count as a tensor's. It is
// read and cleared by its own queue. So a caller that waits for an event does not wait for work that was queued after
// it. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "device/backend.h"

namespace kymo::device {

class ErrorBuffer {
 public:
  static constexpr size_t kMessages = 30;
  static constexpr size_t kBytes = 4 + kMessages * 512;

  explicit ErrorBuffer(Accelerator& accelerator) : accelerator_(accelerator) {}
  ErrorBuffer(const ErrorBuffer&) = delete;
  ErrorBuffer& operator=(const ErrorBuffer&) = delete;

  Address address();

  // A launch that may report was queued. launches() returns their number so far.
  void add_launch() { launches_.fetch_add(1, std::memory_order_release); }
  uint64_t launches() const { return launches_.load(std::memory_order_acquire); }

  // Call it when the first `launches` of them have run. Throws DeviceError if one reported an error: the first message,
  // and how many more there are. Costs nothing if there was no launch since the last call.
  void check(uint64_t launches);

  void forget();  // the device is about to be reset

 private:
  void read(uint64_t launches);

  Accelerator& accelerator_;
  std::atomic<uint64_t> launches_{0}, checked_{0};
  std::mutex mutex_;  // for the members below
  std::unique_ptr<Queue> queue_;
  Address address_ = 0;
};

}  // namespace kymo::device
