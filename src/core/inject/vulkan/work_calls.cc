// Dispatches, draws, copies and fills.
#include <tuple>

#include "inject/adapter.h"
#include "inject/vulkan/calls.h"

namespace kymo::inject::vulkan {
namespace {

// KYMO_VULKAN_COMMANDS=off: only command buffers, render passes and labels have times, not each command.
bool are_commands_timed() noexcept {
  static const bool timed = is_on("KYMO_VULKAN_COMMANDS", true);
  return timed;
}

// The layer's function for a command of the program. `kDescribe` gets the command buffer and the parameters, and
// returns the step. It is called only if the command is recorded.
template <auto kNext, auto kDescribe, class... Args>
VKAPI_ATTR void VKAPI_CALL command(VkCommandBuffer handle, Args... args) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  const DeviceFunctions& next = (buffer != nullptr ? *buffer->device : device_of(handle)).next;
  if (buffer == nullptr || buffer->commands == nullptr) return (next.*kNext)(handle, args...);
  const bool is_timed = are_commands_timed();
  const uint32_t begin = is_timed ? write_begin(*buffer) : Step::kNoQuery;
  (next.*kNext)(handle, args...);
  const uint32_t end = is_timed ? write_end(*buffer) : Step::kNoQuery;
  Step step = kDescribe(*buffer, args...);
  step.begin = begin;
  step.end = end;
  add_step(*buffer, step);
}

constinit Site unnamed_dispatch(Label("dispatch", "kernel")), unnamed_draw(Label("draw", "draw")),
    unnamed_rays(Label("trace rays", "kernel")), build_structures(Label("build acceleration structures", "kernel"));
constinit Site copy_buffer_site(Label("copy buffer", "copy")), copy_image_site(Label("copy image", "copy")),
    buffer_to_image_site(Label("copy buffer to image", "copy")),
    image_to_buffer_site(Label("copy image to buffer", "copy")), blit_site(Label("blit image", "copy")),
    resolve_site(Label("resolve image", "copy")), update_site(Label("update buffer", "copy")),
    fill_site(Label("fill buffer", "fill")), clear_site(Label("clear image", "fill"));

Site* site_or(const PipelineState* pipeline, Site& otherwise) noexcept {
  Site* const site = pipeline != nullptr ? pipeline->work.load(std::memory_order_relaxed) : nullptr;
  return site != nullptr ? site : &otherwise;
}

Step work_step(Form form, Site* site, uint64_t x = 0, uint64_t y = 0, uint64_t z = 0) noexcept {
  Step step;
  step.form = form;
  step.site = site;
  step.sizes = {x, y, z};
  return step;
}

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer handle, VkPipelineBindPoint point,
                                         VkPipeline pipeline) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return device_of(handle).next.CmdBindPipeline(handle, point, pipeline);
  buffer->device->next.CmdBindPipeline(handle, point, pipeline);
  if (buffer->commands == nullptr) return;
  PipelineState* const state = objects().pipeline(pipeline);
  if (point == VK_PIPELINE_BIND_POINT_COMPUTE) buffer->compute = state;
  if (point == VK_PIPELINE_BIND_POINT_GRAPHICS) buffer->graphics = state;
  if (point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR) buffer->rays = state;
}

// ---- Dispatches. The sizes of an indirect one are only on the device.

constexpr auto dispatch = [](CommandBufferState& buffer, uint32_t x, uint32_t y, uint32_t z) noexcept {
  return work_step(Form::Groups, site_or(buffer.compute, unnamed_dispatch), x, y, z);
};
constexpr auto dispatch_base = [](CommandBufferState& buffer, uint32_t, uint32_t, uint32_t, uint32_t x, uint32_t y,
                                  uint32_t z) noexcept { return dispatch(buffer, x, y, z); };
constexpr auto dispatch_indirect = [](CommandBufferState& buffer, auto...) noexcept {
  return work_step(Form::Plain, site_or(buffer.compute, unnamed_dispatch));
};
constexpr auto trace_rays = [](CommandBufferState& buffer, const void*, const void*, const void*, const void*,
                               uint32_t width, uint32_t height, uint32_t depth) noexcept {
  return work_step(Form::Groups, site_or(buffer.rays, unnamed_rays), width, height, depth);
};

// ---- Draws. Of an indirect one only the number of draws is known; if that too is on the device, its maximum.

Step draw_step(CommandBufferState& buffer, uint64_t vertices, uint64_t instances, uint64_t draws) noexcept {
  return work_step(Form::Draws, site_or(buffer.graphics, unnamed_draw), vertices, instances, draws);
}
constexpr auto draw = [](CommandBufferState& buffer, uint32_t vertices, uint32_t instances, auto...) noexcept {
  return draw_step(buffer, vertices, instances, 1);
};
constexpr auto draw_indirect = [](CommandBufferState& buffer, VkBuffer, VkDeviceSize, uint32_t count,
                                  uint32_t) noexcept { return draw_step(buffer, 0, 0, count); };
constexpr auto draw_indirect_count = [](CommandBufferState& buffer, VkBuffer, VkDeviceSize, VkBuffer, VkDeviceSize,
                                        uint32_t most, uint32_t) noexcept { return draw_step(buffer, 0, 0, most); };
constexpr auto draw_mesh_tasks = [](CommandBufferState& buffer, uint32_t x, uint32_t y, uint32_t z) noexcept {
  return work_step(Form::Groups, site_or(buffer.graphics, unnamed_draw), x, y, z);
};

// ---- Copies. The bytes of an image depend on the device, so images count in texels. A blit may scale: its texels say
// little.

uint64_t texels_in(const VkExtent3D& extent, uint32_t layers) noexcept {
  return uint64_t{extent.width} * extent.height * extent.depth *
         (layers == VK_REMAINING_ARRAY_LAYERS ? 1 : uint64_t{layers});
}

template <class Region>
Step copy_step(Site& site, const Region* regions, uint32_t count) noexcept {
  constexpr bool kHasBytes = requires(Region one) { one.size; };
  uint64_t amount = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if constexpr (kHasBytes)
      amount += regions[i].size;
    else if constexpr (requires(Region one) { one.imageExtent; })
      amount += texels_in(regions[i].imageExtent, regions[i].imageSubresource.layerCount);
    else
      amount += texels_in(regions[i].extent, regions[i].srcSubresource.layerCount);
  }
  return work_step(kHasBytes ? Form::Bytes : Form::Texels, &site, amount);
}

// The last two parameters are the regions. The second form of these calls has everything in one structure.
template <Site& kSite>
constexpr auto copy = []<class... Args>(CommandBufferState&, const Args&... args) noexcept {
  const auto all = std::tie(args...);
  if constexpr (sizeof...(Args) == 1)
    return copy_step(kSite, std::get<0>(all)->pRegions, std::get<0>(all)->regionCount);
  else
    return copy_step(kSite, std::get<sizeof...(Args) - 1>(all), std::get<sizeof...(Args) - 2>(all));
};
template <Site& kSite>
constexpr auto plain_work = [](CommandBufferState&, const auto&...) noexcept { return work_step(Form::Plain, &kSite); };

constexpr auto update_buffer = [](CommandBufferState&, VkBuffer, VkDeviceSize, VkDeviceSize bytes,
                                  const void*) noexcept { return work_step(Form::Bytes, &update_site, bytes); };
constexpr auto fill_buffer = [](CommandBufferState&, VkBuffer, VkDeviceSize, VkDeviceSize bytes, uint32_t) noexcept {
  return bytes != VK_WHOLE_SIZE ? work_step(Form::Bytes, &fill_site, bytes) : work_step(Form::Plain, &fill_site);
};

}  // namespace

KYMO_VULKAN_LAYER(CmdBindPipeline) = bind_pipeline;
KYMO_VULKAN_LAYER(CmdDispatch) = command<&Next::CmdDispatch, dispatch>;
KYMO_VULKAN_LAYER(CmdDispatchBase) = command<&Next::CmdDispatchBase, dispatch_base>;
KYMO_VULKAN_LAYER(CmdDispatchIndirect) = command<&Next::CmdDispatchIndirect, dispatch_indirect>;
KYMO_VULKAN_LAYER(CmdTraceRaysKHR) = command<&Next::CmdTraceRaysKHR, trace_rays>;
KYMO_VULKAN_LAYER(CmdBuildAccelerationStructuresKHR) =
    command<&Next::CmdBuildAccelerationStructuresKHR, plain_work<build_structures>>;
KYMO_VULKAN_LAYER(CmdDraw) = command<&Next::CmdDraw, draw>;
KYMO_VULKAN_LAYER(CmdDrawIndexed) = command<&Next::CmdDrawIndexed, draw>;
KYMO_VULKAN_LAYER(CmdDrawIndirect) = command<&Next::CmdDrawIndirect, draw_indirect>;
KYMO_VULKAN_LAYER(CmdDrawIndexedIndirect) = command<&Next::CmdDrawIndexedIndirect, draw_indirect>;
KYMO_VULKAN_LAYER(CmdDrawIndirectCount) = command<&Next::CmdDrawIndirectCount, draw_indirect_count>;
KYMO_VULKAN_LAYER(CmdDrawIndexedIndirectCount) = command<&Next::CmdDrawIndexedIndirectCount, draw_indirect_count>;
KYMO_VULKAN_LAYER(CmdDrawMeshTasksEXT) = command<&Next::CmdDrawMeshTasksEXT, draw_mesh_tasks>;
KYMO_VULKAN_LAYER(CmdCopyBuffer) = command<&Next::CmdCopyBuffer, copy<copy_buffer_site>>;
KYMO_VULKAN_LAYER(CmdCopyBuffer2) = command<&Next::CmdCopyBuffer2, copy<copy_buffer_site>>;
KYMO_VULKAN_LAYER(CmdCopyImage) = command<&Next::CmdCopyImage, copy<copy_image_site>>;
KYMO_VULKAN_LAYER(CmdCopyImage2) = command<&Next::CmdCopyImage2, copy<copy_image_site>>;
KYMO_VULKAN_LAYER(CmdCopyBufferToImage) = command<&Next::CmdCopyBufferToImage, copy<buffer_to_image_site>>;
KYMO_VULKAN_LAYER(CmdCopyBufferToImage2) = command<&Next::CmdCopyBufferToImage2, copy<buffer_to_image_site>>;
KYMO_VULKAN_LAYER(CmdCopyImageToBuffer) = command<&Next::CmdCopyImageToBuffer, copy<image_to_buffer_site>>;
KYMO_VULKAN_LAYER(CmdCopyImageToBuffer2) = command<&Next::CmdCopyImageToBuffer2, copy<image_to_buffer_site>>;
KYMO_VULKAN_LAYER(CmdBlitImage) = command<&Next::CmdBlitImage, plain_work<blit_site>>;
KYMO_VULKAN_LAYER(CmdBlitImage2) = command<&Next::CmdBlitImage2, plain_work<blit_site>>;
KYMO_VULKAN_LAYER(CmdResolveImage) = command<&Next::CmdResolveImage, copy<resolve_site>>;
KYMO_VULKAN_LAYER(CmdResolveImage2) = command<&Next::CmdResolveImage2, copy<resolve_site>>;
KYMO_VULKAN_LAYER(CmdUpdateBuffer) = command<&Next::CmdUpdateBuffer, update_buffer>;
KYMO_VULKAN_LAYER(CmdFillBuffer) = command<&Next::CmdFillBuffer, fill_buffer>;
KYMO_VULKAN_LAYER(CmdClearColorImage) = command<&Next::CmdClearColorImage, plain_work<clear_site>>;
KYMO_VULKAN_LAYER(CmdClearDepthStencilImage) = command<&Next::CmdClearDepthStencilImage, plain_work<clear_site>>;

}  // namespace kymo::inject::vulkan
