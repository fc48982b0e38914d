#include "device/vulkan/descriptor_sets.h"

#include <algorithm>
#include <array>

namespace kymo::device::vulkan {
namespace {
constexpr uint32_t kSetsPerPool = 32, kDescriptorsPerPool = 256;
}

DescriptorSets::~DescriptorSets() {
  for (const VkDescriptorPool pool : pools_) context_.api().vkDestroyDescriptorPool(context_.device(), pool, nullptr);
}

VkDescriptorPool DescriptorSets::add_pool(size_t bindings) {
  const uint32_t count = std::max(kDescriptorsPerPool, static_cast<uint32_t>(bindings));
  const std::array sizes = {VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count},
                            VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count}};
  auto create = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  create.maxSets = kSetsPerPool;
  create.poolSizeCount = sizes.size();
  create.pPoolSizes = sizes.data();
  VkDescriptorPool pool = VK_NULL_HANDLE;
  context_.check(context_.api().vkCreateDescriptorPool(context_.device(), &create, nullptr, &pool),
                 "vkCreateDescriptorPool");
  pools_.push_back(pool);
  return pool;
}

VkDescriptorSet DescriptorSets::make(VkDescriptorSetLayout layout, size_t bindings) {
  auto allocate = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  for (;; ++current_) {
    const bool fresh = current_ == pools_.size();
    allocate.descriptorPool = fresh ? add_pool(bindings) : pools_[current_];
    const VkResult result = context_.api().vkAllocateDescriptorSets(context_.device(), &allocate, &set);
    if (result == VK_SUCCESS) return set;
    if (fresh || (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL))
      context_.check(result, "vkAllocateDescriptorSets");
  }
}

void DescriptorSets::reset() {
  for (size_t i = 0; i < pools_.size() && i <= current_; ++i)
    context_.check(context_.api().vkResetDescriptorPool(context_.device(), pools_[i], 0), "vkResetDescriptorPool");
  current_ = 0;
}

}  // namespace kymo::device::vulkan
