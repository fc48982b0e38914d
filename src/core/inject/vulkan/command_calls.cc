// Command buffers: where their commands are described, from begin to end, with render passes and labels.
#include <string.h>

#include <algorithm>
#include <new>

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

KYMO_VULKAN_LAYER(CreateCommandPool) = create_command_pool;
KYMO_VULKAN_LAYER(DestroyCommandPool) = destroy_command_pool;
KYMO_VULKAN_LAYER(AllocateCommandBuffers) = allocate_command_buffers;
KYMO_VULKAN_LAYER(FreeCommandBuffers) = free_command_buffers;
KYMO_VULKAN_LAYER(BeginCommandBuffer) = begin_command_buffer;
KYMO_VULKAN_LAYER(CmdExecuteCommands) = execute_commands;

// ---- Render passes: ranges around their draws. They also decide where a timestamp is allowed.

namespace {

constinit Site pass_site(Label("render pass", "device range"));

void note_pass(DeviceState& device, VkRenderPass pass, bool is_multiview) noexcept {
  if (!is_multiview) return;
  try {
    const std::lock_guard lock(device.mutex);
    device.multiview_passes.insert(number_of(pass));
  } catch (const std::bad_alloc&) {  // a query of its passes may be too few
  }
}

VKAPI_ATTR VkResult VKAPI_CALL create_render_pass(VkDevice device, const VkRenderPassCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkRenderPass* pass) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.CreateRenderPass(device, info, allocator, pass);
  if (result != VK_SUCCESS) return result;
  if (const auto* views = find_in_chain<VkRenderPassMultiviewCreateInfo>(
          info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO))
    note_pass(state, *pass, std::any_of(views->pViewMasks, views->pViewMasks + views->subpassCount, [](uint32_t mask) {
                return mask != 0;
              }));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_render_pass_2(VkDevice device, const VkRenderPassCreateInfo2* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkRenderPass* pass) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.CreateRenderPass2(device, info, allocator, pass);
  if (result == VK_SUCCESS)
    note_pass(state, *pass, std::any_of(info->pSubpasses, info->pSubpasses + info->subpassCount, [](const auto& one) {
                return one.viewMask != 0;
              }));
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_render_pass(VkDevice device, VkRenderPass pass,
                                               const VkAllocationCallbacks* allocator) noexcept {
  DeviceState& state = device_of(device);
  {
    const std::lock_guard lock(state.mutex);
    state.multiview_passes.erase(number_of(pass));
  }
  state.next.DestroyRenderPass(device, pass, allocator);
}

bool is_multiview_pass(DeviceState& device, const VkRenderPassBeginInfo* info) noexcept {
  const std::lock_guard lock(device.mutex);
  return device.multiview_passes.contains(number_of(info->renderPass));
}

void add_pass_step(CommandBufferState& buffer, Step::Kind kind, uint32_t time) noexcept {
  Step step;
  step.kind = kind;
  step.site = &pass_site;
  step.begin = time;
  add_step(buffer, step);
}

// The time before the pass begins. Inside it the rules of the pass hold.
template <class Call>
void begin_pass(VkCommandBuffer handle, bool only_secondaries, Call call, auto is_multiview) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return call(device_of(handle).next);
  if (buffer->commands != nullptr) add_pass_step(*buffer, Step::Kind::BeginPass, write_begin(*buffer));
  call(buffer->device->next);
  if (buffer->commands == nullptr) return;
  buffer->is_multiview = is_multiview(*buffer->device);
  buffer->only_secondaries = only_secondaries;
}

bool are_secondaries(VkSubpassContents contents) noexcept { return contents != VK_SUBPASS_CONTENTS_INLINE; }
bool are_secondaries(const VkSubpassBeginInfo* begin) noexcept { return are_secondaries(begin->contents); }

// Each call has a second form, with the contents and the end of a subpass in structures.
template <auto kNext, class Contents>
VKAPI_ATTR void VKAPI_CALL begin_render_pass(VkCommandBuffer handle, const VkRenderPassBeginInfo* info,
                                             Contents contents) noexcept {
  begin_pass(
      handle, are_secondaries(contents), [&](const DeviceFunctions& next) { (next.*kNext)(handle, info, contents); },
      [&](DeviceState& device) { return is_multiview_pass(device, info); });
}

template <auto kNext, class Contents, class... End>
VKAPI_ATTR void VKAPI_CALL next_subpass(VkCommandBuffer handle, Contents contents, End... end) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return (device_of(handle).next.*kNext)(handle, contents, end...);
  (buffer->device->next.*kNext)(handle, contents, end...);
  buffer->only_secondaries = are_secondaries(contents);
}

template <auto kNext, class... End>
VKAPI_ATTR void VKAPI_CALL end_pass(VkCommandBuffer handle, End... end) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return (device_of(handle).next.*kNext)(handle, end...);
  (buffer->device->next.*kNext)(handle, end...);
  buffer->is_multiview = buffer->only_secondaries = false;
  if (buffer->commands != nullptr)
    add_pass_step(*buffer, Step::Kind::EndPass, buffer->suspends ? Step::kNoQuery : write_end(*buffer));
}

// A pass that was suspended in one command buffer is resumed in the next one of the same submission, with nothing in
// between. Such a submission gets no times.
VKAPI_ATTR void VKAPI_CALL begin_rendering(VkCommandBuffer handle, const VkRenderingInfo* info) noexcept {
  constexpr VkRenderingFlags kParts = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT;
  if (CommandBufferState* buffer = (info->flags & kParts) != 0 ? objects().buffer(handle) : nullptr) {
    buffer->suspends = true;
    buffer->is_shared = true;  // no more times in it
  }
  begin_pass(
      handle, (info->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT) != 0,
      [&](const DeviceFunctions& next) { next.CmdBeginRendering(handle, info); },
      [&](DeviceState&) { return info->viewMask != 0; });
}

}  // namespace

KYMO_VULKAN_LAYER(CreateRenderPass) = create_render_pass;
KYMO_VULKAN_LAYER(CreateRenderPass2) = create_render_pass_2;
KYMO_VULKAN_LAYER(DestroyRenderPass) = destroy_render_pass;
KYMO_VULKAN_LAYER(CmdBeginRenderPass) = begin_render_pass<&Next::CmdBeginRenderPass>;
KYMO_VULKAN_LAYER(CmdBeginRenderPass2) = begin_render_pass<&Next::CmdBeginRenderPass2>;
KYMO_VULKAN_LAYER(CmdNextSubpass) = next_subpass<&Next::CmdNextSubpass>;
KYMO_VULKAN_LAYER(CmdNextSubpass2) = next_subpass<&Next::CmdNextSubpass2>;
KYMO_VULKAN_LAYER(CmdEndRenderPass) = end_pass<&Next::CmdEndRenderPass>;
KYMO_VULKAN_LAYER(CmdEndRenderPass2) = end_pass<&Next::CmdEndRenderPass2>;
KYMO_VULKAN_LAYER(CmdBeginRendering) = begin_rendering;
KYMO_VULKAN_LAYER(CmdEndRendering) = end_pass<&Next::CmdEndRendering>;

// ---- Labels and names that the program gives: VK_EXT_debug_utils

namespace {

constexpr size_t kMaxName = 256;

void add_label_step(VkCommandBuffer handle, Step::Kind kind, const char* text, VkPipelineStageFlagBits stage) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr || buffer->commands == nullptr) return;
  try {
    Step step;
    step.kind = kind;
    if (kind != Step::Kind::EndLabel) step.extra = buffer->commands->add_text(text);
    step.begin = write_time(*buffer, stage);
    buffer->commands->add(step);
  } catch (const std::bad_alloc&) {  // the label is missing in the trace
  }
}

VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer handle, const VkDebugUtilsLabelEXT* label) noexcept {
  add_label_step(handle, Step::Kind::BeginLabel, label->pLabelName, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
  device_of(handle).next.CmdBeginDebugUtilsLabelEXT(handle, label);
}

VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer handle) noexcept {
  device_of(handle).next.CmdEndDebugUtilsLabelEXT(handle);
  add_label_step(handle, Step::Kind::EndLabel, nullptr, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}

VKAPI_ATTR void VKAPI_CALL insert_label(VkCommandBuffer handle, const VkDebugUtilsLabelEXT* label) noexcept {
  add_label_step(handle, Step::Kind::Mark, label->pLabelName, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
  device_of(handle).next.CmdInsertDebugUtilsLabelEXT(handle, label);
}

// ---- Labels of queues

void add_queue_label(VkQueue handle, Pending::Kind kind, const char* text) noexcept {
  QueueState* queue = objects().queue(handle);
  if (queue == nullptr || queue->timestamp_bits == 0) return;
  if (!kymo::detail::recording()) return;
  try {
    Pending pending;
    pending.kind = kind;
    if (text != nullptr) pending.text.assign(text, strnlen(text, kMaxName));
    pending.recording = recorder().recording();
    recorder().add(*queue, std::move(pending));
  } catch (const std::bad_alloc&) {  // the label is missing in the trace
  }
}

template <auto kNext, Pending::Kind kKind, class... Labels>
VKAPI_ATTR void VKAPI_CALL queue_label(VkQueue queue, Labels... labels) noexcept {
  const char* text = nullptr;  // an end has none
  ((text = labels->pLabelName), ...);
  add_queue_label(queue, kKind, text);
  (device_of(queue).next.*kNext)(queue, labels...);
}

// ---- Names

// An empty name removes the one that the object has.
void note_name(DeviceState& device, VkObjectType type, uint64_t object, const char* untrusted) noexcept {
  try {
    std::string name(untrusted != nullptr ? std::string(untrusted, strnlen(untrusted, kMaxName)) : "");
    {
      const std::lock_guard lock(device.mutex);
      if (name.empty()) {
        device.names.erase({type, object});
        return;
      }
      device.names[{type, object}] = name;
    }
    if (type == VK_OBJECT_TYPE_PIPELINE) rename_pipeline(object, name);
  } catch (const std::bad_alloc&) {  // it has no name
  }
}

VKAPI_ATTR VkResult VKAPI_CALL set_object_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) noexcept {
  DeviceState& state = device_of(device);
  note_name(state, info->objectType, info->objectHandle, info->pObjectName);
  return state.next.SetDebugUtilsObjectNameEXT(device, info);
}

}  // namespace

KYMO_VULKAN_LAYER(CmdBeginDebugUtilsLabelEXT) = begin_label;
KYMO_VULKAN_LAYER(CmdEndDebugUtilsLabelEXT) = end_label;
KYMO_VULKAN_LAYER(CmdInsertDebugUtilsLabelEXT) = insert_label;
KYMO_VULKAN_LAYER(QueueBeginDebugUtilsLabelEXT) =
    queue_label<&Next::QueueBeginDebugUtilsLabelEXT, Pending::Kind::BeginLabel>;
KYMO_VULKAN_LAYER(QueueEndDebugUtilsLabelEXT) = queue_label<&Next::QueueEndDebugUtilsLabelEXT, Pending::Kind::EndLabel>;
KYMO_VULKAN_LAYER(QueueInsertDebugUtilsLabelEXT) =
    queue_label<&Next::QueueInsertDebugUtilsLabelEXT, Pending::Kind::Mark>;
KYMO_VULKAN_LAYER(SetDebugUtilsObjectNameEXT) = set_object_name;

}  // namespace kymo::inject::vulkan
