#include "inject/vulkan/query_chunks.h"

#include <new>

namespace kymo::inject::vulkan {

VkQueryPool QueryChunks::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    VkQueryPool chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  if (closed_ || all_.size() == kMax) return VK_NULL_HANDLE;
  auto info = made<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kQueries;
  VkQueryPool chunk = VK_NULL_HANDLE;
  try {
    all_.reserve(all_.size() + 1);
    free_.reserve(all_.size() + 1);  // giving back needs no memory
    if (next_->CreateQueryPool(device_, &info, nullptr, &chunk) != VK_SUCCESS) return VK_NULL_HANDLE;
    all_.push_back(chunk);
  } catch (const std::bad_alloc&) {
    return VK_NULL_HANDLE;
  }
  return chunk;
}

void QueryChunks::give_back(const std::vector<VkQueryPool>& chunks) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  free_.insert(free_.end(), chunks.begin(), chunks.end());
}

void QueryChunks::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (VkQueryPool chunk : all_) next_->DestroyQueryPool(device_, chunk, nullptr);
  all_.clear();
  free_.clear();
}

}  // namespace kymo::inject::vulkan
