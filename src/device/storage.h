// The memory of tensors. All tensor memory is allocated and freed here, so every allocation is in the trace.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device_state.h"

namespace kymo::device {

class Storage {
 public:
  // Allocates memory for work on `stream`; nothing for 0 bytes. Throws OutOfMemory.
  Storage(DeviceState& device, size_t bytes, StreamState& stream);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  DeviceState& device() const { return device_; }
  uint64_t id() const { return id_; }  // unique in this process: 1, 2, …
  size_t bytes() const { return bytes_; }
  // Throws Error if the device was reset since.
  Address address() const {
    if (__builtin_expect(generation_ != device_.generation(), 0)) refuse();
    return address_;
  }

  // Call it before work on `stream` uses the storage.
  void use_on(const StreamState& stream);

 private:
  [[noreturn]] void refuse() const;
  static uint64_t next_id() {
    static constinit std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  DeviceState& device_;
  const uint64_t id_ = next_id();
  Block* block_ = nullptr;
  Address address_ = 0;
  size_t bytes_ = 0;
  StreamId stream_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace kymo::device
