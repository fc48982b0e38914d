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
  // Memory of another library, which `owner` keeps. `shared_host`: it was shared with the device by
  // Accelerator::share_host, and is unshared at the end. The owner is released when no work uses the memory any more.
  // Without an owner, the creator keeps the memory until then, and the end of the storage waits for nothing.
  Storage(DeviceState& device, Address address, size_t bytes, bool shared_host, std::shared_ptr<void> owner);
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

  // Only of memory of another library.
  bool is_foreign_ = false;
  void wait_for_users() noexcept;
  std::shared_ptr<void> owner_;
  std::atomic<uint64_t> users_{0};  // the streams whose work uses it, one bit each
  bool shared_host_ = false;
};

}  // namespace kymo::device
