// Device memory: shared virtual memory, whose addresses are pointers on the host and on the device.
//
// A driver aligns to its largest type (128 bytes) and rejects larger alignments. Kymo needs 512 bytes, so it allocates
// that much more and starts the block at the first aligned address. A driver may promise more memory than there is
// (PoCL does, and memory that moves between host and device may too), so allocations beyond the device's memory are
// refused here.
#pragma once

#include <mutex>
#include <unordered_map>

#include "device/opencl/context.h"

namespace kymo::device::opencl {

class Memory {
 public:
  explicit Memory(Context& context) : context_(context) {}

  Address allocate(size_t bytes);  // 0: there is no more
  void release(Address address) noexcept;
  void forget() noexcept;  // a device reset destroyed all of it

 private:
  static constexpr size_t kAlignment = 512;

  Context& context_;
  std::mutex mutex_;
  struct Block {
    void* driver = nullptr;  // the address from the driver
    size_t bytes = 0;
  };

  std::unordered_map<Address, Block> blocks_;  // by the aligned address
  size_t held_ = 0;
};

}  // namespace kymo::device::opencl
