// Host memory that the device uses without a copy: whole pages of the host become a buffer
// (VK_EXT_external_memory_host).
//
// Thread-safe. The same memory, or a part of it, may be shared several times; each share ends on its own. Memory of the
// device itself, which host code sees through its mapping, is found too: it needs no buffer of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "device/memory_source.h"
#include "device/vulkan/context.h"

namespace kymo::device::vulkan {

class SharedHost {
 public:
  explicit SharedHost(Context& context) : context_(context) {}

  // 0: the driver refuses, or a part of the memory is shared already and the rest is not.
  Address share(void* memory, size_t bytes);
  void unshare(Address address) noexcept;

 private:
  struct Share {
    Address begin = 0, end = 0;  // of the device
    uintptr_t host = 0;          // the host's address of `begin`
    size_t count = 0;
    bool own_buffer = false;
  };

  Address import(uintptr_t begin, size_t bytes);

  Context& context_;
  std::mutex mutex_;
  std::map<uintptr_t, Share> shares_;  // by `host`; they do not overlap
};

}  // namespace kymo::device::vulkan
