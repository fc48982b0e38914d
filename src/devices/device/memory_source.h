// Where the caching allocator gets its memory, and how it orders the streams that share it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::device {

using Address = uint64_t;   // of device memory, in the device's own address space; 0: no memory
using StreamId = uint32_t;  // 0: the default stream of the device

class MemorySource {
 public:
  virtual ~MemorySource() = default;

  // Memory from the driver, aligned to at least 512 bytes; 0 if there is no more. Slow, and may synchronise.
  virtual Address allocate(size_t bytes) = 0;
  // No queued work uses the memory any more: the allocator has made sure of that.
  virtual void release(Address address, size_t bytes) noexcept = 0;

  // Work that is queued on `after` from now on waits, on the device, for the work that is now on `before`. Does not
  // block.
  virtual void order(StreamId before, StreamId after) = 0;
  // Blocks until all streams are idle.
  virtual void synchronize() = 0;

  virtual size_t recommended_max() const = 0;  // how much the device can hold without becoming slow
  virtual size_t max_allocation() const = 0;   // the size of the largest single allocation
};

}  // namespace kymo::device
