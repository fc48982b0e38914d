// What kernels of one stream report: c10/metal/error.h's TORCH_REPORT_ERROR writes into it, and the next call that
// waits for them throws it.
//
//   4 bytes        how many were reported, also those that found no room
//   30 × 512       file (128), function (128), text (250), line (4, aligned): texts end with a zero byte or where they
//   do
//
// Made, and zeroed, when a kernel of the stream first needs it, of memory that is not counted as a tensor's. It is read
// and emptied by a queue of its own, so that whoever waits for an event waits for nothing that was queued behind it.
// Thread-safe.
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

  // A launch that may report was queued; how many were so far.
  void add_launch() { launches_.fetch_add(1, std::memory_order_release); }
  uint64_t launches() const { return launches_.load(std::memory_order_acquire); }

  // The first `launches` of them have run. Throws DeviceError where one reported something: the first message, and how
  // many more there are. Costs nothing where there was no launch since the last time.
  void check(uint64_t launches);

  void forget();  // the device is about to be reset

 private:
  void read(uint64_t launches);

  Accelerator& accelerator_;
  std::atomic<uint64_t> launches_{0}, checked_{0};
  std::mutex mutex_;  // of what follows
  std::unique_ptr<Queue> queue_;
  Address address_ = 0;
};

}  // namespace kymo::device
