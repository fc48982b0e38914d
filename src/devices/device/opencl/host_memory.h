// Host memory with the fastest copies.
//
// On a CPU device this is any aligned memory. On other devices it is a buffer that the driver keeps page-locked and
// that stays mapped until it is released. Thread-safe. Every upload and download calls covers(): it costs one load
// while nothing is allocated, otherwise a lock and a search.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "device/opencl/handle.h"

namespace kymo::device::opencl {

struct Context;

class HostMemory {
 public:
  explicit HostMemory(const Context& context) : context_(context) {}
  ~HostMemory();

  void* allocate(size_t bytes);  // null: there is no more
  void release(void* memory) noexcept;
  bool covers(const void* from, size_t bytes) const;  // true if one block from here contains all of it
  void forget() noexcept;  // drops the driver's blocks, which the device reset destroyed. Plain memory stays.

 private:
  struct Block {
    size_t bytes = 0;
    Handle<cl_mem> buffer;  // empty: plain memory
  };

  void* allocate_plain(size_t bytes, Block& block);
  void* allocate_mapped(size_t bytes, Block& block);
  void dispose(void* memory, Block& block) noexcept;

  const Context& context_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by the address of their first byte
  std::atomic<size_t> count_{0};
};

}  // namespace kymo::device::opencl
