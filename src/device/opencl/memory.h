// Device memory: shared virtual memory, whose addresses are pointers on the host and on the device.
//
// A driver aligns to the longest type it has (128 bytes) and refuses more; Kymo needs 512, so a block is asked for that
// much longer and begun at the first place that will do. A driver may promise more than there is (PoCL does, and memory
// that moves between host and device may): what would pass the device's memory is refused here.
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
  void forget() noexcept;  // all of it went with the device

 private:
  static constexpr size_t kAlignment = 512;

  Context& context_;
  std::mutex mutex_;
  struct Block {
    void* driver = nullptr;  // what the driver gave
    size_t bytes = 0;
  };

  std::unordered_map<Address, Block> blocks_;  // by what was made of it
  size_t held_ = 0;
};

}  // namespace kymo::device::opencl
