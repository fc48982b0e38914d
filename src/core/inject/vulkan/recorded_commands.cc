#include "inject/vulkan/recorded_commands.h"

#include <string.h>

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

namespace {

constexpr size_t kMaxText = 1024;

}  // namespace

uint32_t RecordedCommands::take_query() noexcept {
  if (queries_ % QueryChunks::kQueries == 0) {
    try {
      pools_.reserve(pools_.size() + 1);
    } catch (const std::bad_alloc&) {
      return Step::kNoQuery;
    }
    VkQueryPool chunk = chunks_->take();
    if (chunk == VK_NULL_HANDLE) return Step::kNoQuery;
    pools_.push_back(chunk);
  }
  return queries_++;
}

uint32_t RecordedCommands::add_text(const char* text) {
  texts_.emplace_back(text != nullptr ? std::string(text, strnlen(text, kMaxText)) : "label");
  return static_cast<uint32_t>(texts_.size() - 1);
}

uint32_t RecordedCommands::add_secondary(std::shared_ptr<const RecordedCommands> commands) {
  secondaries_.push_back(std::move(commands));
  return static_cast<uint32_t>(secondaries_.size() - 1);
}

uint32_t RecordedCommands::all_query_count() const {
  uint32_t count = queries_;
  for (const auto& one : secondaries_) count += one->all_query_count();
  return count;
}

uint32_t RecordedCommands::command_count() const {
  uint32_t count = 0;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::Work) ++count;
    if (step.kind == Step::Kind::Execute) count += secondary(step).command_count();
  }
  return count;
}

}  // namespace kymo::inject::vulkan
