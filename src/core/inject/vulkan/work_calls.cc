// Dispatches, draws, copies and fills.
#include "inject/vulkan/calls.h"

namespace kymo::inject::vulkan {
namespace {

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

Step dispatch_step(CommandBufferState& buffer, uint64_t x, uint64_t y, uint64_t z) noexcept {
  return work_step(Form::Groups, site_or(buffer.compute, unnamed_dispatch), x, y, z);
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return dispatch_step(buffer, x, y, z); },
      [&](const DeviceFunctions& next) { next.CmdDispatch(handle, x, y, z); });
}

VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer handle, uint32_t base_x, uint32_t base_y, uint32_t base_z,
                                         uint32_t x, uint32_t y, uint32_t z) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return dispatch_step(buffer, x, y, z); },
      [&](const DeviceFunctions& next) { next.CmdDispatchBase(handle, base_x, base_y, base_z, x, y, z); });
}

VKAPI_ATTR void VKAPI_CALL dispatch_indirect(VkCommandBuffer handle, VkBuffer sizes, VkDeviceSize offset) noexcept {
  command(
      handle,
      [&](CommandBufferState& buffer) { return work_step(Form::Plain, site_or(buffer.compute, unnamed_dispatch)); },
      [&](const DeviceFunctions& next) { next.CmdDispatchIndirect(handle, sizes, offset); });
}

VKAPI_ATTR void VKAPI_CALL trace_rays(VkCommandBuffer handle, const VkStridedDeviceAddressRegionKHR* generate,
                                      const VkStridedDeviceAddressRegionKHR* miss,
                                      const VkStridedDeviceAddressRegionKHR* hit,
                                      const VkStridedDeviceAddressRegionKHR* callable, uint32_t width, uint32_t height,
                                      uint32_t depth) noexcept {
  command(
      handle,
      [&](CommandBufferState& buffer) {
        return work_step(Form::Groups, site_or(buffer.rays, unnamed_rays), width, height, depth);
      },
      [&](const DeviceFunctions& next) {
        next.CmdTraceRaysKHR(handle, generate, miss, hit, callable, width, height, depth);
      });
}

VKAPI_ATTR void VKAPI_CALL build_acceleration(VkCommandBuffer handle, uint32_t count,
                                              const VkAccelerationStructureBuildGeometryInfoKHR* infos,
                                              const VkAccelerationStructureBuildRangeInfoKHR* const* ranges) noexcept {
  command(
      handle, [&](CommandBufferState&) { return work_step(Form::Plain, &build_structures); },
      [&](const DeviceFunctions& next) { next.CmdBuildAccelerationStructuresKHR(handle, count, infos, ranges); });
}

// ---- Draws

Step draw_step(CommandBufferState& buffer, uint64_t vertices, uint64_t instances, uint64_t draws) noexcept {
  return work_step(Form::Draws, site_or(buffer.graphics, unnamed_draw), vertices, instances, draws);
}

VKAPI_ATTR void VKAPI_CALL draw(VkCommandBuffer handle, uint32_t vertices, uint32_t instances, uint32_t first_vertex,
                                uint32_t first_instance) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, vertices, instances, 1); },
      [&](const DeviceFunctions& next) { next.CmdDraw(handle, vertices, instances, first_vertex, first_instance); });
}

VKAPI_ATTR void VKAPI_CALL draw_indexed(VkCommandBuffer handle, uint32_t indices, uint32_t instances,
                                        uint32_t first_index, int32_t offset, uint32_t first_instance) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, indices, instances, 1); },
      [&](const DeviceFunctions& next) {
        next.CmdDrawIndexed(handle, indices, instances, first_index, offset, first_instance);
      });
}

VKAPI_ATTR void VKAPI_CALL draw_indirect(VkCommandBuffer handle, VkBuffer sizes, VkDeviceSize offset, uint32_t count,
                                         uint32_t stride) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, 0, 0, count); },
      [&](const DeviceFunctions& next) { next.CmdDrawIndirect(handle, sizes, offset, count, stride); });
}

VKAPI_ATTR void VKAPI_CALL draw_indexed_indirect(VkCommandBuffer handle, VkBuffer sizes, VkDeviceSize offset,
                                                 uint32_t count, uint32_t stride) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, 0, 0, count); },
      [&](const DeviceFunctions& next) { next.CmdDrawIndexedIndirect(handle, sizes, offset, count, stride); });
}

// The count is only on the device: at most `most`.
VKAPI_ATTR void VKAPI_CALL draw_indirect_count(VkCommandBuffer handle, VkBuffer sizes, VkDeviceSize offset,
                                               VkBuffer counts, VkDeviceSize count_offset, uint32_t most,
                                               uint32_t stride) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, 0, 0, most); },
      [&](const DeviceFunctions& next) {
        next.CmdDrawIndirectCount(handle, sizes, offset, counts, count_offset, most, stride);
      });
}

VKAPI_ATTR void VKAPI_CALL draw_indexed_indirect_count(VkCommandBuffer handle, VkBuffer sizes, VkDeviceSize offset,
                                                       VkBuffer counts, VkDeviceSize count_offset, uint32_t most,
                                                       uint32_t stride) noexcept {
  command(
      handle, [&](CommandBufferState& buffer) { return draw_step(buffer, 0, 0, most); },
      [&](const DeviceFunctions& next) {
        next.CmdDrawIndexedIndirectCount(handle, sizes, offset, counts, count_offset, most, stride);
      });
}

VKAPI_ATTR void VKAPI_CALL draw_mesh_tasks(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z) noexcept {
  command(
      handle,
      [&](CommandBufferState& buffer) {
        return work_step(Form::Groups, site_or(buffer.graphics, unnamed_draw), x, y, z);
      },
      [&](const DeviceFunctions& next) { next.CmdDrawMeshTasksEXT(handle, x, y, z); });
}

// ---- Copies. The bytes of an image depend on the device, so images count in texels.

template <class Region>
uint64_t bytes_of(const Region* regions, uint32_t count) noexcept {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) bytes += regions[i].size;
  return bytes;
}

uint64_t texels_in(const VkExtent3D& extent, uint32_t layers) noexcept {
  return uint64_t{extent.width} * extent.height * extent.depth *
         (layers == VK_REMAINING_ARRAY_LAYERS ? 1 : uint64_t{layers});
}

template <class Region>
uint64_t image_texels(const Region* regions, uint32_t count) noexcept {
  uint64_t texels = 0;
  for (uint32_t i = 0; i < count; ++i) texels += texels_in(regions[i].extent, regions[i].srcSubresource.layerCount);
  return texels;
}

template <class Region>
uint64_t buffer_image_texels(const Region* regions, uint32_t count) noexcept {
  uint64_t texels = 0;
  for (uint32_t i = 0; i < count; ++i)
    texels += texels_in(regions[i].imageExtent, regions[i].imageSubresource.layerCount);
  return texels;
}

template <class Call>
void copy_command(VkCommandBuffer handle, Site& site, Form form, uint64_t amount, Call call) noexcept {
  command(
      handle, [&](CommandBufferState&) { return work_step(form, &site, amount); }, call);
}

// A blit may scale: its texels say little.
template <class Region>
uint64_t no_amount(const Region*, uint32_t) noexcept {
  return 0;
}

// The second form of these calls has everything in one structure.
template <auto kNext, Site& kSite, Form kForm, auto kAmount, class Info>
VKAPI_ATTR void VKAPI_CALL copy_by_info(VkCommandBuffer handle, const Info* info) noexcept {
  copy_command(handle, kSite, kForm, kAmount(info->pRegions, info->regionCount),
               [&](const DeviceFunctions& next) { (next.*kNext)(handle, info); });
}

VKAPI_ATTR void VKAPI_CALL copy_buffer(VkCommandBuffer handle, VkBuffer from, VkBuffer to, uint32_t count,
                                       const VkBufferCopy* regions) noexcept {
  copy_command(handle, copy_buffer_site, Form::Bytes, bytes_of(regions, count),
               [&](const DeviceFunctions& next) { next.CmdCopyBuffer(handle, from, to, count, regions); });
}

VKAPI_ATTR void VKAPI_CALL copy_image(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
                                      VkImageLayout to_layout, uint32_t count, const VkImageCopy* regions) noexcept {
  copy_command(handle, copy_image_site, Form::Texels, image_texels(regions, count), [&](const DeviceFunctions& next) {
    next.CmdCopyImage(handle, from, from_layout, to, to_layout, count, regions);
  });
}

VKAPI_ATTR void VKAPI_CALL copy_buffer_to_image(VkCommandBuffer handle, VkBuffer from, VkImage to, VkImageLayout layout,
                                                uint32_t count, const VkBufferImageCopy* regions) noexcept {
  copy_command(
      handle, buffer_to_image_site, Form::Texels, buffer_image_texels(regions, count),
      [&](const DeviceFunctions& next) { next.CmdCopyBufferToImage(handle, from, to, layout, count, regions); });
}

VKAPI_ATTR void VKAPI_CALL copy_image_to_buffer(VkCommandBuffer handle, VkImage from, VkImageLayout layout, VkBuffer to,
                                                uint32_t count, const VkBufferImageCopy* regions) noexcept {
  copy_command(
      handle, image_to_buffer_site, Form::Texels, buffer_image_texels(regions, count),
      [&](const DeviceFunctions& next) { next.CmdCopyImageToBuffer(handle, from, layout, to, count, regions); });
}

VKAPI_ATTR void VKAPI_CALL blit_image(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
                                      VkImageLayout to_layout, uint32_t count, const VkImageBlit* regions,
                                      VkFilter filter) noexcept {
  copy_command(handle, blit_site, Form::Plain, 0, [&](const DeviceFunctions& next) {
    next.CmdBlitImage(handle, from, from_layout, to, to_layout, count, regions, filter);
  });
}

VKAPI_ATTR void VKAPI_CALL resolve_image(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
                                         VkImageLayout to_layout, uint32_t count,
                                         const VkImageResolve* regions) noexcept {
  copy_command(handle, resolve_site, Form::Texels, image_texels(regions, count), [&](const DeviceFunctions& next) {
    next.CmdResolveImage(handle, from, from_layout, to, to_layout, count, regions);
  });
}

VKAPI_ATTR void VKAPI_CALL update_buffer(VkCommandBuffer handle, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes,
                                         const void* data) noexcept {
  copy_command(handle, update_site, Form::Bytes, bytes,
               [&](const DeviceFunctions& next) { next.CmdUpdateBuffer(handle, to, offset, bytes, data); });
}

VKAPI_ATTR void VKAPI_CALL fill_buffer(VkCommandBuffer handle, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes,
                                       uint32_t value) noexcept {
  const bool is_known = bytes != VK_WHOLE_SIZE;
  copy_command(handle, fill_site, is_known ? Form::Bytes : Form::Plain, is_known ? bytes : 0,
               [&](const DeviceFunctions& next) { next.CmdFillBuffer(handle, to, offset, bytes, value); });
}

VKAPI_ATTR void VKAPI_CALL clear_color(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                                       const VkClearColorValue* color, uint32_t count,
                                       const VkImageSubresourceRange* ranges) noexcept {
  copy_command(handle, clear_site, Form::Plain, 0, [&](const DeviceFunctions& next) {
    next.CmdClearColorImage(handle, image, layout, color, count, ranges);
  });
}

VKAPI_ATTR void VKAPI_CALL clear_depth(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
                                       const VkClearDepthStencilValue* value, uint32_t count,
                                       const VkImageSubresourceRange* ranges) noexcept {
  copy_command(handle, clear_site, Form::Plain, 0, [&](const DeviceFunctions& next) {
    next.CmdClearDepthStencilImage(handle, image, layout, value, count, ranges);
  });
}

}  // namespace

const PFN_vkCmdBindPipeline layer::CmdBindPipeline = bind_pipeline;
const PFN_vkCmdDispatch layer::CmdDispatch = dispatch;
const PFN_vkCmdDispatchBase layer::CmdDispatchBase = dispatch_base;
const PFN_vkCmdDispatchIndirect layer::CmdDispatchIndirect = dispatch_indirect;
const PFN_vkCmdTraceRaysKHR layer::CmdTraceRaysKHR = trace_rays;
const PFN_vkCmdBuildAccelerationStructuresKHR layer::CmdBuildAccelerationStructuresKHR = build_acceleration;
const PFN_vkCmdDraw layer::CmdDraw = draw;
const PFN_vkCmdDrawIndexed layer::CmdDrawIndexed = draw_indexed;
const PFN_vkCmdDrawIndirect layer::CmdDrawIndirect = draw_indirect;
const PFN_vkCmdDrawIndexedIndirect layer::CmdDrawIndexedIndirect = draw_indexed_indirect;
const PFN_vkCmdDrawIndirectCount layer::CmdDrawIndirectCount = draw_indirect_count;
const PFN_vkCmdDrawIndexedIndirectCount layer::CmdDrawIndexedIndirectCount = draw_indexed_indirect_count;
const PFN_vkCmdDrawMeshTasksEXT layer::CmdDrawMeshTasksEXT = draw_mesh_tasks;
const PFN_vkCmdCopyBuffer layer::CmdCopyBuffer = copy_buffer;
const PFN_vkCmdCopyBuffer2 layer::CmdCopyBuffer2 =
    copy_by_info<&DeviceFunctions::CmdCopyBuffer2, copy_buffer_site, Form::Bytes, bytes_of<VkBufferCopy2>>;
const PFN_vkCmdCopyImage layer::CmdCopyImage = copy_image;
const PFN_vkCmdCopyImage2 layer::CmdCopyImage2 =
    copy_by_info<&DeviceFunctions::CmdCopyImage2, copy_image_site, Form::Texels, image_texels<VkImageCopy2>>;
const PFN_vkCmdCopyBufferToImage layer::CmdCopyBufferToImage = copy_buffer_to_image;
const PFN_vkCmdCopyBufferToImage2 layer::CmdCopyBufferToImage2 =
    copy_by_info<&DeviceFunctions::CmdCopyBufferToImage2, buffer_to_image_site, Form::Texels,
                 buffer_image_texels<VkBufferImageCopy2>>;
const PFN_vkCmdCopyImageToBuffer layer::CmdCopyImageToBuffer = copy_image_to_buffer;
const PFN_vkCmdCopyImageToBuffer2 layer::CmdCopyImageToBuffer2 =
    copy_by_info<&DeviceFunctions::CmdCopyImageToBuffer2, image_to_buffer_site, Form::Texels,
                 buffer_image_texels<VkBufferImageCopy2>>;
const PFN_vkCmdBlitImage layer::CmdBlitImage = blit_image;
const PFN_vkCmdBlitImage2 layer::CmdBlitImage2 =
    copy_by_info<&DeviceFunctions::CmdBlitImage2, blit_site, Form::Plain, no_amount<VkImageBlit2>>;
const PFN_vkCmdResolveImage layer::CmdResolveImage = resolve_image;
const PFN_vkCmdResolveImage2 layer::CmdResolveImage2 =
    copy_by_info<&DeviceFunctions::CmdResolveImage2, resolve_site, Form::Texels, image_texels<VkImageResolve2>>;
const PFN_vkCmdUpdateBuffer layer::CmdUpdateBuffer = update_buffer;
const PFN_vkCmdFillBuffer layer::CmdFillBuffer = fill_buffer;
const PFN_vkCmdClearColorImage layer::CmdClearColorImage = clear_color;
const PFN_vkCmdClearDepthStencilImage layer::CmdClearDepthStencilImage = clear_depth;

}  // namespace kymo::inject::vulkan
