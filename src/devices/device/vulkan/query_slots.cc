#include "device/vulkan/query_slots.h"

namespace kymo::device::vulkan {
namespace {
constexpr uint32_t kSlotsPerPool = 128;
}

QuerySlots::~QuerySlots() {
  for (const VkQueryPool pool : pools_) context_.api().vkDestroyQueryPool(context_.device(), pool, nullptr);
}

QuerySlot QuerySlots::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    auto create = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    create.queryType = VK_QUERY_TYPE_TIMESTAMP;
    create.queryCount = kSlotsPerPool * width_;
    VkQueryPool pool = VK_NULL_HANDLE;
    context_.check(context_.api().vkCreateQueryPool(context_.device(), &create, nullptr, &pool), "vkCreateQueryPool");
    pools_.push_back(pool);
    context_.api().vkResetQueryPool(context_.device(), pool, 0, create.queryCount);
    for (uint32_t i = kSlotsPerPool; i-- > 0;) free_.push_back({pool, i * width_});
  }
  const QuerySlot slot = free_.back();
  free_.pop_back();
  return slot;
}

void QuerySlots::release(const QuerySlot& slot) {
  const std::lock_guard lock(mutex_);
  context_.api().vkResetQueryPool(context_.device(), slot.pool, slot.first, width_);
  free_.push_back(slot);
}

bool QuerySlots::read(const QuerySlot& slot, uint64_t* ticks) {
  const VkResult result =
      context_.api().vkGetQueryPoolResults(context_.device(), slot.pool, slot.first, width_, width_ * sizeof(uint64_t),
                                           ticks, sizeof(uint64_t), VK_QUERY_RESULT_64_BIT);
  context_.check(result, "vkGetQueryPoolResults");
  return result == VK_SUCCESS;
}

}  // namespace kymo::device::vulkan
