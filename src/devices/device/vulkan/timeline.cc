#include "device/vulkan/timeline.h"

#include <limits>

namespace kymo::device::vulkan {

Timeline::Timeline(Context& context) : context_(context) {
  auto type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto create = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  create.pNext = &type;
  context_.check(context_.api().vkCreateSemaphore(context_.device(), &create, nullptr, &semaphore_),
                 "vkCreateSemaphore");
}

Timeline::~Timeline() { context_.api().vkDestroySemaphore(context_.device(), semaphore_, nullptr); }

uint64_t Timeline::refresh() {
  uint64_t value = 0;
  context_.check(context_.api().vkGetSemaphoreCounterValue(context_.device(), semaphore_, &value),
                 "vkGetSemaphoreCounterValue");
  // Two threads may store different values. The greater one is kept.
  uint64_t known = known_.load(std::memory_order_relaxed);
  while (known < value && !known_.compare_exchange_weak(known, value, std::memory_order_release)) {
  }
  return value;
}

void Timeline::wait(uint64_t value) {
  if (reached(value)) return;
  auto info = structure<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_;
  info.pValues = &value;
  context_.check(context_.api().vkWaitSemaphores(context_.device(), &info, std::numeric_limits<uint64_t>::max()),
                 "vkWaitSemaphores");
  refresh();
}

}  // namespace kymo::device::vulkan
