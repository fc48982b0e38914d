// Memory that the host and the device share, used as a ring: the space for a submission is free again when the
// submission is done. The device copies from and to it, or kernels read their arguments in it. Used by one thread at a
// time. Allocated at the first use. Space costs some nanoseconds; the driver is asked only when the ring is full.
#pragma once

#include <deque>
#include <optional>

#include "device/memory_source.h"
#include "device/vulkan/timeline.h"

namespace kymo::device::vulkan {

class Staging {
 public:
  static constexpr size_t kBytes = size_t{4} << 20;
  enum class Use : uint8_t { Copies, Arguments };
  // Max size of one part, so that several parts are in flight together.
  static constexpr size_t kLargest = size_t{1} << 20;

  struct Space {
    std::byte* host = nullptr;
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t offset = 0;
    Address address = 0;  // for kernels; only of Arguments
  };

  Staging(Context& context, Timeline& timeline, Use use) : context_(context), timeline_(timeline), use_(use) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // At most kLargest bytes, at a multiple of 64, in use until the timeline reaches `value`, which never decreases from
  // call to call. Empty: the ring is full until oldest() is reached.
  std::optional<Space> take(size_t bytes, uint64_t value);
  uint64_t oldest() const { return used_.front().value; }

 private:
  struct Used {
    uint64_t end = 0;  // a position
    uint64_t value = 0;
  };

  void allocate();

  Context& context_;
  Timeline& timeline_;
  const Use use_;
  Buffer buffer_;
  // Positions only increase; a position modulo kBytes is an offset in the buffer.
  uint64_t head_ = 0, tail_ = 0;
  std::deque<Used> used_;  // one for each submission
};

}  // namespace kymo::device::vulkan
