#include "inject/vulkan/objects.h"

#include <algorithm>
#include <bit>
#include <new>

#include "inject/adapter.h"

namespace kymo::inject::vulkan {
namespace {

constexpr VkDeviceSize kTimeBytes = sizeof(uint64_t);
constexpr uint32_t kSmallestRoom = 512;  // times: a page

uint32_t host_memory_type(const DeviceState& device, uint32_t allowed) noexcept {
  constexpr VkMemoryPropertyFlags kCoherent =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kBest = kCoherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  for (const VkMemoryPropertyFlags wanted : {kBest, kCoherent})
    for (uint32_t i = 0; i < device.memory.memoryTypeCount; ++i)
      if ((allowed >> i & 1) != 0 && (device.memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  return UINT32_MAX;
}

void free_room(DeviceState& device, TimesSlot& slot) noexcept {
  device.next.DestroyBuffer(device.handle, slot.buffer, nullptr);
  device.next.FreeMemory(device.handle, slot.memory, nullptr);  // unmaps it
  slot.buffer = VK_NULL_HANDLE;
  slot.memory = VK_NULL_HANDLE;
  slot.times = nullptr;
  slot.capacity = 0;
}

// Until the next command of the kind in the second scope: the results are written.
void barrier_after_copies(DeviceState& device, VkCommandBuffer commands, VkPipelineStageFlags stage,
                          VkAccessFlags access) noexcept {
  auto barrier = made<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = access;
  device.next.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, stage, 0, 1, &barrier, 0, nullptr, 0,
                                 nullptr);
}

bool begin_own(DeviceState& device, VkCommandBuffer commands) noexcept {
  const auto begin = made<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  return device.next.BeginCommandBuffer(commands, &begin) == VK_SUCCESS;
}

}  // namespace

void SlotPool::look_at_marks(DeviceState& device) noexcept {
  const uint64_t before = completed_;
  while (!marks_.empty() && device.next.GetFenceStatus(device.handle, marks_.front().fence) == VK_SUCCESS) {
    completed_ = std::max(completed_, marks_.front().number);
    if (device.next.ResetFences(device.handle, 1, &marks_.front().fence) == VK_SUCCESS && fences_.size() < kMaxSlots) {
      fences_.push_back(marks_.front().fence);
    } else {
      device.next.DestroyFence(device.handle, marks_.front().fence, nullptr);
    }
    marks_.pop_front();
  }
  if (completed_ == before) return;
  for (const auto& slot : slots_) {
    // Nobody can submit these commands again: their queries are for others.
    if (slot->number > completed_ || !slot->is_written.load(std::memory_order_acquire)) continue;
    if (slot->commands == nullptr || slot->commands.use_count() > 1) continue;
    slot->commands.reset();
    slot->is_prepared = false;
  }
}

void SlotPool::mark(QueueState& queue) noexcept {
  if (submissions_ - marked_ < kSubmissionsBetweenMarks) return;
  DeviceState& device = *queue.device;
  try {
    if (fences_.empty()) {
      fences_.reserve(1);
      const auto info = made<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
      VkFence fence = VK_NULL_HANDLE;
      if (device.next.CreateFence(device.handle, &info, nullptr, &fence) != VK_SUCCESS) return;
      fences_.push_back(fence);
    }
    marks_.push_back({fences_.back(), submissions_});
  } catch (const std::bad_alloc&) {
    return;
  }
  fences_.pop_back();
  marked_ = submissions_;
  if (device.next.QueueSubmit(queue.handle, 0, nullptr, marks_.back().fence) == VK_SUCCESS) return;
  device.next.DestroyFence(device.handle, marks_.back().fence, nullptr);
  marks_.pop_back();
}

TimesSlot* SlotPool::make_slot(QueueState& queue) {
  DeviceState& device = *queue.device;
  if (slots_.size() == kMaxSlots) return nullptr;
  if (pool_ == VK_NULL_HANDLE) {
    auto info = made<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = queue.family;
    if (device.next.CreateCommandPool(device.handle, &info, nullptr, &pool_) != VK_SUCCESS) return nullptr;
  }
  auto slot = std::make_unique<TimesSlot>();
  auto info = made<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool_;
  info.commandBufferCount = 2;
  VkCommandBuffer both[2];
  if (device.next.AllocateCommandBuffers(device.handle, &info, both) != VK_SUCCESS) return nullptr;
  // The loader knows only the program's.
  for (VkCommandBuffer one : both)
    if (device.set_loader_data != nullptr) device.set_loader_data(device.handle, one);
  auto queries = made<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = TimesSlot::kOwnTimes;
  if (device.next.CreateQueryPool(device.handle, &queries, nullptr, &slot->queries) != VK_SUCCESS) {
    device.next.FreeCommandBuffers(device.handle, pool_, 2, both);
    return nullptr;
  }
  slot->before = both[0];
  slot->after = both[1];
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

bool SlotPool::make_room(DeviceState& device, TimesSlot& slot, uint32_t times) {
  if (slot.capacity >= times) return true;
  free_room(device, slot);
  slot.is_prepared = false;
  const uint32_t room = std::bit_ceil(std::max(times, kSmallestRoom));
  auto info = made<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = (room + 1) * kTimeBytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device.next.CreateBuffer(device.handle, &info, nullptr, &slot.buffer) != VK_SUCCESS) {
    slot.buffer = VK_NULL_HANDLE;
    return false;
  }
  VkMemoryRequirements needs;
  device.next.GetBufferMemoryRequirements(device.handle, slot.buffer, &needs);
  auto allocate = made<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = host_memory_type(device, needs.memoryTypeBits);
  void* mapped = nullptr;
  if (allocate.memoryTypeIndex == UINT32_MAX ||
      device.next.AllocateMemory(device.handle, &allocate, nullptr, &slot.memory) != VK_SUCCESS) {
    slot.memory = VK_NULL_HANDLE;
    free_room(device, slot);
    return false;
  }
  if (device.next.BindBufferMemory(device.handle, slot.buffer, slot.memory, 0) != VK_SUCCESS ||
      device.next.MapMemory(device.handle, slot.memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS) {
    free_room(device, slot);
    return false;
  }
  slot.times = static_cast<uint64_t*>(mapped);
  slot.capacity = room;
  return true;
}

bool SlotPool::prepare(DeviceState& device, TimesSlot& slot, std::shared_ptr<const RecordedCommands> commands) {
  if (slot.is_prepared && slot.commands == commands) return true;
  slot.is_prepared = false;
  const DeviceFunctions& next = device.next;
  if (!begin_own(device, slot.before)) return false;
  next.CmdResetQueryPool(slot.before, slot.queries, 0, TimesSlot::kOwnTimes);
  if (commands != nullptr)
    commands->each_part([&](VkQueryPool pool, uint32_t count) { next.CmdResetQueryPool(slot.before, pool, 0, count); });
  next.CmdWriteTimestamp(slot.before, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, slot.queries, 0);
  if (next.EndCommandBuffer(slot.before) != VK_SUCCESS || !begin_own(device, slot.after)) return false;

  // Every query in these parts was written, so that the device does not wait for ever.
  constexpr VkQueryResultFlags kFlags = VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT;
  VkDeviceSize at = kTimeBytes;
  next.CmdWriteTimestamp(slot.after, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot.queries, 1);
  const auto copy = [&](VkQueryPool pool, uint32_t count) {
    next.CmdCopyQueryPoolResults(slot.after, pool, 0, count, slot.buffer, at, kTimeBytes, kFlags);
    at += count * kTimeBytes;
  };
  copy(slot.queries, TimesSlot::kOwnTimes);
  if (commands != nullptr) commands->each_part(copy);
  barrier_after_copies(device, slot.after, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
  next.CmdFillBuffer(slot.after, slot.buffer, 0, kTimeBytes, 1);
  barrier_after_copies(device, slot.after, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  if (next.EndCommandBuffer(slot.after) != VK_SUCCESS) return false;
  slot.commands = std::move(commands);
  slot.is_prepared = true;
  return true;
}

TimesSlot* SlotPool::take(QueueState& queue, std::shared_ptr<const RecordedCommands> commands) noexcept {
  DeviceState& device = *queue.device;
  try {
    look_at_marks(device);
    TimesSlot* free = nullptr;
    for (size_t tried = 0; tried < slots_.size() && free == nullptr; ++tried) {
      TimesSlot& slot = *slots_[next_++ % slots_.size()];
      if (slot.number <= completed_ && slot.is_written.load(std::memory_order_acquire)) free = &slot;
    }
    if (free == nullptr) free = make_slot(queue);
    if (free == nullptr) return nullptr;
    const uint32_t times = TimesSlot::kOwnTimes + (commands != nullptr ? commands->all_query_count() : 0);
    if (!make_room(device, *free, times) || !prepare(device, *free, std::move(commands))) return nullptr;
    free->times[0] = 0;
    free->is_written.store(false, std::memory_order_relaxed);
    return free;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void SlotPool::close(DeviceState& device) noexcept {
  // The program has waited for its own submissions, but not for these.
  constexpr uint64_t kLongest = 1'000'000'000;
  for (const Mark& mark : marks_) device.next.WaitForFences(device.handle, 1, &mark.fence, VK_TRUE, kLongest);
  for (const Mark& mark : marks_) device.next.DestroyFence(device.handle, mark.fence, nullptr);
  for (VkFence fence : fences_) device.next.DestroyFence(device.handle, fence, nullptr);
  for (const auto& slot : slots_) {
    free_room(device, *slot);
    device.next.DestroyQueryPool(device.handle, slot->queries, nullptr);
  }
  if (pool_ != VK_NULL_HANDLE) device.next.DestroyCommandPool(device.handle, pool_, nullptr);
  pool_ = VK_NULL_HANDLE;
  slots_.clear();
  marks_.clear();
  fences_.clear();
}

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
