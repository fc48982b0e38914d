// Timestamp queries, handed out one by one or in pairs, always reset and ready to be written. Thread-safe: markers
// share those of the context, each queue has its own.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "device/vulkan/context.h"

namespace kymo::device::vulkan {

struct QuerySlot {
  VkQueryPool pool = VK_NULL_HANDLE;
  uint32_t first = 0;
};

class QuerySlots {
 public:
  QuerySlots(Context& context, uint32_t width) : context_(context), width_(width) {}
  ~QuerySlots();
  QuerySlots(const QuerySlots&) = delete;
  QuerySlots& operator=(const QuerySlots&) = delete;

  QuerySlot acquire();
  // The device must have finished with it.
  void release(const QuerySlot& slot);
  // The ticks that were written; false if there are none yet. `ticks` has `width` elements.
  bool read(const QuerySlot& slot, uint64_t* ticks);

 private:
  Context& context_;
  const uint32_t width_;
  std::mutex mutex_;
  std::vector<VkQueryPool> pools_;
  std::vector<QuerySlot> free_;
};

}  // namespace kymo::device::vulkan
