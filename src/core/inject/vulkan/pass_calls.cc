// Render passes: ranges around their draws. They also decide where a timestamp is allowed.
#include <algorithm>
#include <new>

#include "inject/vulkan/calls.h"

namespace kymo::inject::vulkan {
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

template <class Call>
void end_pass_call(VkCommandBuffer handle, Call call) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return call(device_of(handle).next);
  call(buffer->device->next);
  buffer->is_multiview = buffer->only_secondaries = false;
  if (buffer->commands != nullptr)
    add_pass_step(*buffer, Step::Kind::EndPass, buffer->suspends ? Step::kNoQuery : write_end(*buffer));
}

bool are_secondaries(VkSubpassContents contents) noexcept { return contents != VK_SUBPASS_CONTENTS_INLINE; }

VKAPI_ATTR void VKAPI_CALL begin_render_pass(VkCommandBuffer handle, const VkRenderPassBeginInfo* info,
                                             VkSubpassContents contents) noexcept {
  begin_pass(
      handle, are_secondaries(contents),
      [&](const DeviceFunctions& next) { next.CmdBeginRenderPass(handle, info, contents); },
      [&](DeviceState& device) { return is_multiview_pass(device, info); });
}

VKAPI_ATTR void VKAPI_CALL begin_render_pass_2(VkCommandBuffer handle, const VkRenderPassBeginInfo* info,
                                               const VkSubpassBeginInfo* subpass) noexcept {
  begin_pass(
      handle, are_secondaries(subpass->contents),
      [&](const DeviceFunctions& next) { next.CmdBeginRenderPass2(handle, info, subpass); },
      [&](DeviceState& device) { return is_multiview_pass(device, info); });
}

template <class Call>
void next_subpass_call(VkCommandBuffer handle, VkSubpassContents contents, Call call) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return call(device_of(handle).next);
  call(buffer->device->next);
  buffer->only_secondaries = are_secondaries(contents);
}

VKAPI_ATTR void VKAPI_CALL next_subpass(VkCommandBuffer handle, VkSubpassContents contents) noexcept {
  next_subpass_call(handle, contents, [&](const DeviceFunctions& next) { next.CmdNextSubpass(handle, contents); });
}

VKAPI_ATTR void VKAPI_CALL next_subpass_2(VkCommandBuffer handle, const VkSubpassBeginInfo* begin,
                                          const VkSubpassEndInfo* end) noexcept {
  next_subpass_call(handle, begin->contents,
                    [&](const DeviceFunctions& next) { next.CmdNextSubpass2(handle, begin, end); });
}

VKAPI_ATTR void VKAPI_CALL end_render_pass(VkCommandBuffer handle) noexcept {
  end_pass_call(handle, [&](const DeviceFunctions& next) { next.CmdEndRenderPass(handle); });
}

VKAPI_ATTR void VKAPI_CALL end_render_pass_2(VkCommandBuffer handle, const VkSubpassEndInfo* end) noexcept {
  end_pass_call(handle, [&](const DeviceFunctions& next) { next.CmdEndRenderPass2(handle, end); });
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

VKAPI_ATTR void VKAPI_CALL end_rendering(VkCommandBuffer handle) noexcept {
  end_pass_call(handle, [&](const DeviceFunctions& next) { next.CmdEndRendering(handle); });
}

}  // namespace

const PFN_vkCreateRenderPass layer::CreateRenderPass = create_render_pass;
const PFN_vkCreateRenderPass2 layer::CreateRenderPass2 = create_render_pass_2;
const PFN_vkDestroyRenderPass layer::DestroyRenderPass = destroy_render_pass;
const PFN_vkCmdBeginRenderPass layer::CmdBeginRenderPass = begin_render_pass;
const PFN_vkCmdBeginRenderPass2 layer::CmdBeginRenderPass2 = begin_render_pass_2;
const PFN_vkCmdNextSubpass layer::CmdNextSubpass = next_subpass;
const PFN_vkCmdNextSubpass2 layer::CmdNextSubpass2 = next_subpass_2;
const PFN_vkCmdEndRenderPass layer::CmdEndRenderPass = end_render_pass;
const PFN_vkCmdEndRenderPass2 layer::CmdEndRenderPass2 = end_render_pass_2;
const PFN_vkCmdBeginRendering layer::CmdBeginRendering = begin_rendering;
const PFN_vkCmdEndRendering layer::CmdEndRendering = end_rendering;

}  // namespace kymo::inject::vulkan
