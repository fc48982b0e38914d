// Where the caching allocator gets its memory from, and how it keeps the streams that share it in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::device {

using Address = uint64_t;   // of device memory, in the device's own address space; 0: none
using StreamId = uint32_t;  // 0: the default stream of the device

class MemorySource {
 public:
  virtual ~MemorySource() = default;

  // Memory from the driver, aligned to 512 bytes at least; 0 where it has no more. Slow, and may synchronise.
  virtual Address allocate(size_t bytes) = 0;
  // No work that was queued uses it any more: the allocator has seen to that.
  virtual void release(Address address, size_t bytes) noexcept = 0;

  // What is queued on `after` from now on waits, on the device, for what is on `before` by now. Does not block.
  virtual void order(StreamId before, StreamId after) = 0;
  // Blocks until all streams are idle.
  virtual void synchronize() = 0;

  virtual size_t recommended_max() const = 0;  // what the device can hold without hurting itself
  virtual size_t max_allocation() const = 0;   // the longest single allocation
};

}  // namespace kymo::device
