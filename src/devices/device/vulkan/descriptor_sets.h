// The descriptor sets of one command buffer, for devices without push descriptors. They are created as needed and freed
// together. Used by one thread at a time.
#pragma once

#include <span>
#include <vector>

#include "device/vulkan/context.h"

namespace kymo::device::vulkan {

class DescriptorSets {
 public:
  explicit DescriptorSets(Context& context) : context_(context) {}
  ~DescriptorSets();
  DescriptorSets(const DescriptorSets&) = delete;
  DescriptorSets& operator=(const DescriptorSets&) = delete;

  VkDescriptorSet make(VkDescriptorSetLayout layout, size_t bindings);
  void reset();  // the device must have finished with all of them

 private:
  VkDescriptorPool add_pool(size_t bindings);

  Context& context_;
  std::vector<VkDescriptorPool> pools_;
  size_t current_ = 0;
};

}  // namespace kymo::device::vulkan
