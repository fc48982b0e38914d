// Command buffers: where their commands are described, from begin to end.
#include <new>

#include "inject/switch.h"
#include "inject/vulkan/calls.h"

namespace kymo::inject::vulkan {
namespace {

VKAPI_ATTR VkResult VKAPI_CALL create_command_pool(VkDevice device, const VkCommandPoolCreateInfo* info,
                                                   const VkAllocationCallbacks* allocator,
                                                   VkCommandPool* pool) noexcept {
  const VkResult result = device_of(device).next.CreateCommandPool(device, info, allocator, pool);
  try {
    if (result == VK_SUCCESS)
      objects().add_pool(*pool, info->queueFamilyIndex, (info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT) != 0);
  } catch (const std::bad_alloc&) {  // its command buffers are not recorded
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_command_pool(VkDevice device, VkCommandPool pool,
                                                const VkAllocationCallbacks* allocator) noexcept {
  objects().remove_pool(pool);
  device_of(device).next.DestroyCommandPool(device, pool, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL allocate_command_buffers(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                                        VkCommandBuffer* buffers) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.AllocateCommandBuffers(device, info, buffers);
  try {
    if (result == VK_SUCCESS) objects().add_buffers(state, *info, buffers);
  } catch (const std::bad_alloc&) {  // some are not recorded
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL free_command_buffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                                const VkCommandBuffer* buffers) noexcept {
  objects().remove_buffers(pool, count, buffers);
  device_of(device).next.FreeCommandBuffers(device, pool, count, buffers);
}

// A secondary command buffer may be inside a render pass from its begin.
bool inherits_multiview(DeviceState& device, const VkCommandBufferBeginInfo& info) {
  if ((info.flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) == 0 || info.pInheritanceInfo == nullptr)
    return false;
  if (const auto* rendering = find_in_chain<VkCommandBufferInheritanceRenderingInfo>(
          info.pInheritanceInfo->pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO))
    if (rendering->viewMask != 0) return true;
  const std::lock_guard lock(device.mutex);
  return device.multiview_passes.contains(number_of(info.pInheritanceInfo->renderPass));
}

VKAPI_ATTR VkResult VKAPI_CALL begin_command_buffer(VkCommandBuffer handle,
                                                    const VkCommandBufferBeginInfo* info) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return device_of(handle).next.BeginCommandBuffer(handle, info);
  const VkResult result = buffer->device->next.BeginCommandBuffer(handle, info);
  buffer->commands.reset();
  buffer->suspends = buffer->is_multiview = buffer->only_secondaries = buffer->is_shared = false;
  buffer->compute = buffer->graphics = buffer->rays = nullptr;
  if (result != VK_SUCCESS || !kymo::detail::recording() || buffer->timestamp_bits == 0) return result;
  try {
    buffer->is_shared = buffer->is_secondary && (info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT) != 0;
    buffer->is_multiview = buffer->is_secondary && inherits_multiview(*buffer->device, *info);
    buffer->commands = std::make_shared<RecordedCommands>(buffer->device->chunks);
  } catch (const std::bad_alloc&) {  // only its submissions are recorded
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL execute_commands(VkCommandBuffer handle, uint32_t count,
                                            const VkCommandBuffer* secondaries) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  (buffer != nullptr ? buffer->device->next : device_of(handle).next).CmdExecuteCommands(handle, count, secondaries);
  if (buffer == nullptr) return;
  for (uint32_t i = 0; i < count; ++i) {
    const CommandBufferState* secondary = objects().buffer(secondaries[i]);
    if (secondary == nullptr) continue;
    buffer->suspends |= secondary->suspends;
    // One that was recorded during a recording has queries, which must be reset wherever it runs.
    if (secondary->commands == nullptr) continue;
    try {
      if (buffer->commands == nullptr) buffer->commands = std::make_shared<RecordedCommands>(buffer->device->chunks);
      Step step;
      step.kind = Step::Kind::Execute;
      step.extra = buffer->commands->add_secondary(secondary->commands);
      buffer->commands->add(step);
    } catch (const std::bad_alloc&) {  // its commands are missing in the trace
    }
  }
}

}  // namespace

uint32_t write_time(CommandBufferState& buffer, VkPipelineStageFlagBits stage) noexcept {
  if (buffer.is_shared || buffer.is_multiview || buffer.only_secondaries) return Step::kNoQuery;
  const uint32_t query = buffer.commands->take_query();
  if (query == Step::kNoQuery) return query;
  buffer.device->next.CmdWriteTimestamp(buffer.handle, stage, buffer.commands->pool_of(query),
                                        query % QueryChunks::kQueries);
  return query;
}

void add_step(CommandBufferState& buffer, const Step& step) noexcept {
  try {
    buffer.commands->add(step);
  } catch (const std::bad_alloc&) {  // the command is missing in the trace
  }
}

bool are_commands_timed() noexcept {
  static const bool timed = is_on("KYMO_VULKAN_COMMANDS", true);
  return timed;
}

const PFN_vkCreateCommandPool layer::CreateCommandPool = create_command_pool;
const PFN_vkDestroyCommandPool layer::DestroyCommandPool = destroy_command_pool;
const PFN_vkAllocateCommandBuffers layer::AllocateCommandBuffers = allocate_command_buffers;
const PFN_vkFreeCommandBuffers layer::FreeCommandBuffers = free_command_buffers;
const PFN_vkBeginCommandBuffer layer::BeginCommandBuffer = begin_command_buffer;
const PFN_vkCmdExecuteCommands layer::CmdExecuteCommands = execute_commands;

}  // namespace kymo::inject::vulkan
