#include "inject/vulkan/objects.h"

#include <algorithm>

#include "inject/adapter.h"

namespace kymo::inject::vulkan {
namespace {

constexpr size_t kMaxSites = 16'384;  // distinct names of pipelines

}  // namespace

Objects& objects() noexcept {
  static Immortal<Objects> storage;
  static Objects& made = storage.make();
  return made;
}

std::string DeviceState::name_of(VkObjectType type, uint64_t object) {
  const std::lock_guard lock(mutex);
  const auto found = names.find({type, object});
  return found != names.end() ? found->second : std::string();
}

void Objects::add(std::unique_ptr<InstanceState> state) {
  const void* const key = key_of(state->handle);
  const std::unique_ptr<InstanceState> old(instances_.take(key));
  instances_.put(key, state.get());
  (void)state.release();  // it belongs to the table now
}

void Objects::remove_instance(const void* key) noexcept {
  const std::unique_ptr<InstanceState> removed(instances_.take(key));
}

DeviceState& Objects::add(std::unique_ptr<DeviceState> state) {
  DeviceState& added = *state;
  {
    const std::lock_guard lock(mutex_);
    added.number = device_count_++;
  }
  const void* const key = key_of(added.handle);
  const std::unique_ptr<DeviceState> old(devices_.take(key));
  devices_.put(key, &added);
  (void)state.release();
  return added;
}

void Objects::remove_device(const void* key) noexcept {
  const std::unique_ptr<DeviceState> removed(devices_.take(key));
  if (removed == nullptr) return;
  for (const auto& queue : removed->queues) queues_.take(queue->handle);
}

void Objects::add_queue(DeviceState& device, VkQueue handle, uint32_t family, uint32_t index) {
  if (handle == VK_NULL_HANDLE || queues_.find(handle) != nullptr) return;
  auto state = std::make_unique<QueueState>();
  state->device = &device;
  state->handle = handle;
  state->family = family;
  state->index = index;
  // Other families cannot reset and copy queries.
  constexpr VkQueueFlags kUsable = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  if (family < device.families.size() && (device.families[family].queueFlags & kUsable) != 0)
    state->timestamp_bits = device.families[family].timestampValidBits;
  const std::lock_guard lock(device.mutex);
  if (queues_.find(handle) != nullptr) return;
  device.queues.push_back(std::move(state));
  queues_.put(handle, device.queues.back().get());
}

void Objects::add_pool(VkCommandPool pool, uint32_t family, bool is_protected) {
  const std::lock_guard lock(mutex_);
  pools_[pool] = {family, is_protected, {}};
}

void Objects::remove_pool(VkCommandPool pool) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return;
  for (VkCommandBuffer one : found->second.buffers) {
    const std::unique_ptr<CommandBufferState> removed(buffers_.take(one));
  }
  pools_.erase(found);
}

void Objects::add_buffers(DeviceState& device, const VkCommandBufferAllocateInfo& info,
                          const VkCommandBuffer* buffers) {
  const std::lock_guard lock(mutex_);
  const auto pool = pools_.find(info.commandPool);
  if (pool == pools_.end()) return;
  const uint32_t family = pool->second.family;
  constexpr VkQueueFlags kUsable = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
  const bool is_usable = !pool->second.is_protected && family < device.families.size() &&
                         (device.families[family].queueFlags & kUsable) != 0;
  for (uint32_t i = 0; i < info.commandBufferCount; ++i) {
    auto state = std::make_unique<CommandBufferState>();
    state->device = &device;
    state->handle = buffers[i];
    state->pool = info.commandPool;
    state->is_secondary = info.level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    state->timestamp_bits = is_usable ? device.families[family].timestampValidBits : 0;
    pool->second.buffers.push_back(buffers[i]);
    const std::unique_ptr<CommandBufferState> old(buffers_.take(buffers[i]));
    buffers_.put(buffers[i], state.get());
    (void)state.release();
  }
}

void Objects::remove_buffers(VkCommandPool pool, uint32_t count, const VkCommandBuffer* buffers) noexcept {
  if (buffers == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  for (uint32_t i = 0; i < count; ++i) {
    const std::unique_ptr<CommandBufferState> removed(buffers_.take(buffers[i]));
    if (removed != nullptr && found != pools_.end()) std::erase(found->second.buffers, buffers[i]);
  }
}

Site& Objects::site_of(std::string_view name, const char* category) {
  const std::lock_guard lock(mutex_);
  if (sites_.size() >= kMaxSites) name = "pipeline";
  auto& place = sites_[{std::string(name), category}];
  if (place == nullptr) place = std::make_unique<NamedSite>(plain_name(name), category);
  return place->site;
}

void Objects::name_pipeline(VkPipeline pipeline, std::string_view name, const char* category) {
  Site& site = site_of(name, category);
  const void* const key = reinterpret_cast<const void*>(pipeline);
  if (PipelineState* known = pipelines_.find(key)) {
    known->work.store(&site, std::memory_order_relaxed);
    return;
  }
  auto state = std::make_unique<PipelineState>();
  state->work.store(&site, std::memory_order_relaxed);
  pipelines_.put(key, state.get());
  (void)state.release();
}

void Objects::remove_pipeline(VkPipeline handle) noexcept {
  const std::unique_ptr<PipelineState> removed(pipelines_.take(reinterpret_cast<const void*>(handle)));
}

}  // namespace kymo::inject::vulkan
