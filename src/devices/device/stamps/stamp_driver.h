// What stamps (stamps.h) need from a driver: memory for the slots, and a way to read it without waiting. One object for
// one queue. Errors of the driver throw kymo::DeviceError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace kymo::device {

// Memory on the device, and page-locked memory of the same size on the host that gets copies of it.
struct StampBlock {
  uint64_t device = 0;  // address
  std::byte* host = nullptr;
};

enum class StampProgress : uint8_t { Pending, Reached, Failed };

class StampDriver {
 public:
  virtual ~StampDriver() = default;  // frees the blocks

  // The timer that kernels store minus the ticks of the device's clock. Empty: kernels cannot be timed by stamps.
  virtual std::optional<int64_t> timer_offset() = 0;

  // Filled with zeros before anything that is queued later runs. Empty: there is no memory left.
  virtual std::optional<StampBlock> allocate(size_t bytes) = 0;

  // Marks the end of what is in the queue now.
  virtual void fence() = 0;
  // Queues a copy of a part of a block to the host, beside the queue: it does not wait for the queue. end_copies()
  // comes after the last one.
  virtual void copy(const StampBlock& block, size_t offset, size_t bytes) = 0;
  virtual void end_copies() = 0;

  // Whether the device has reached the last fence or the end of the last copies.
  virtual StampProgress look() = 0;
  virtual void wait() = 0;  // until then
};

}  // namespace kymo::device
