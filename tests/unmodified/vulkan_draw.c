#include "vulkan_draw.h"

#include <stdlib.h>
#include <string.h>

#include "vulkan_setup.h"

/* The entry points are "tri" and "red". */
static const uint32_t tri_code[] = {
    0x7230203,  0x10000, 0x8000b, 0x23,    0x0,     0x20011, 0x1,     0x6000b, 0x1,        0x4c534c47, 0x6474732e,
    0x3035342e, 0x0,     0x3000e, 0x0,     0x1,     0x6000f, 0x0,     0x4,     0x697274,   0xd,        0x11,
    0x50048,    0xb,     0x0,     0xb,     0x0,     0x50048, 0xb,     0x1,     0xb,        0x1,        0x50048,
    0xb,        0x2,     0xb,     0x3,     0x50048, 0xb,     0x3,     0xb,     0x4,        0x30047,    0xb,
    0x2,        0x40047, 0x11,    0xb,     0x2a,    0x20013, 0x2,     0x30021, 0x3,        0x2,        0x30016,
    0x6,        0x20,    0x40017, 0x7,     0x6,     0x4,     0x40015, 0x8,     0x20,       0x0,        0x4002b,
    0x8,        0x9,     0x1,     0x4001c, 0xa,     0x6,     0x9,     0x6001e, 0xb,        0x7,        0x6,
    0xa,        0xa,     0x40020, 0xc,     0x3,     0xb,     0x4003b, 0xc,     0xd,        0x3,        0x40015,
    0xe,        0x20,    0x1,     0x4002b, 0xe,     0xf,     0x0,     0x40020, 0x10,       0x1,        0xe,
    0x4003b,    0x10,    0x11,    0x1,     0x4002b, 0xe,     0x13,    0x1,     0x4002b,    0xe,        0x15,
    0x4,        0x4002b, 0x6,     0x1e,    0x0,     0x4002b, 0x6,     0x1f,    0x3f800000, 0x40020,    0x21,
    0x3,        0x7,     0x50036, 0x2,     0x4,     0x0,     0x3,     0x200f8, 0x5,        0x4003d,    0xe,
    0x12,       0x11,    0x500c7, 0xe,     0x14,    0x12,    0x13,    0x50084, 0xe,        0x16,       0x14,
    0x15,       0x50082, 0xe,     0x17,    0x16,    0x13,    0x4006f, 0x6,     0x18,       0x17,       0x500c3,
    0xe,        0x1a,    0x12,    0x13,    0x50084, 0xe,     0x1b,    0x1a,    0x15,       0x50082,    0xe,
    0x1c,       0x1b,    0x13,    0x4006f, 0x6,     0x1d,    0x1c,    0x70050, 0x7,        0x20,       0x18,
    0x1d,       0x1e,    0x1f,    0x50041, 0x21,    0x22,    0xd,     0xf,     0x3003e,    0x22,       0x20,
    0x100fd,    0x10038,
};

static const uint32_t red_code[] = {
    0x7230203,  0x10000, 0x8000b, 0xd,     0x0,     0x20011, 0x1,     0x6000b,    0x1,      0x4c534c47, 0x6474732e,
    0x3035342e, 0x0,     0x3000e, 0x0,     0x1,     0x5000f, 0x4,     0x4,        0x646572, 0x9,        0x30010,
    0x4,        0x7,     0x40047, 0x9,     0x1e,    0x0,     0x20013, 0x2,        0x30021,  0x3,        0x2,
    0x30016,    0x6,     0x20,    0x40017, 0x7,     0x6,     0x4,     0x40020,    0x8,      0x3,        0x7,
    0x4003b,    0x8,     0x9,     0x3,     0x4002b, 0x6,     0xa,     0x3f800000, 0x4002b,  0x6,        0xb,
    0x0,        0x7002c, 0x7,     0xc,     0xa,     0xb,     0xb,     0xa,        0x50036,  0x2,        0x4,
    0x0,        0x3,     0x200f8, 0x5,     0x3003e, 0x9,     0xc,     0x100fd,    0x10038,
};

/* A render pass with one image. */
void do_draw(void) {
  const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
  VkImageCreateInfo images = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D};
  images.format = format;
  images.extent = (VkExtent3D){64, 64, 1};
  images.mipLevels = images.arrayLayers = 1;
  images.samples = VK_SAMPLE_COUNT_1_BIT;
  images.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
  VkImage image;
  check(vkCreateImage(device, &images, NULL, &image), "vkCreateImage");
  VkMemoryRequirements needs;
  vkGetImageMemoryRequirements(device, image, &needs);
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  while ((needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) == 0) ++allocate.memoryTypeIndex;
  VkDeviceMemory memory;
  check(vkAllocateMemory(device, &allocate, NULL, &memory), "vkAllocateMemory");
  check(vkBindImageMemory(device, image, memory, 0), "vkBindImageMemory");
  VkImageViewCreateInfo views = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = image, .format = format};
  views.viewType = VK_IMAGE_VIEW_TYPE_2D;
  views.subresourceRange = (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  VkImageView view;
  check(vkCreateImageView(device, &views, NULL, &view), "vkCreateImageView");
  VkAttachmentDescription attachment = {.format = format, .samples = VK_SAMPLE_COUNT_1_BIT};
  attachment.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
  attachment.finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
  VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
  VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &color};
  VkRenderPassCreateInfo passes = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
  passes.attachmentCount = passes.subpassCount = 1;
  passes.pAttachments = &attachment;
  passes.pSubpasses = &subpass;
  VkRenderPass pass;
  check(vkCreateRenderPass(device, &passes, NULL, &pass), "vkCreateRenderPass");
  VkFramebufferCreateInfo frames = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO, .renderPass = pass};
  frames.attachmentCount = frames.layers = 1;
  frames.pAttachments = &view;
  frames.width = frames.height = 64;
  VkFramebuffer frame;
  check(vkCreateFramebuffer(device, &frames, NULL, &frame), "vkCreateFramebuffer");

  VkPipelineShaderStageCreateInfo stages[2] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO},
                                               {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO}};
  stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
  stages[0].module = make_shader(tri_code, sizeof tri_code);
  stages[0].pName = "tri";
  stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
  stages[1].module = make_shader(red_code, sizeof red_code);
  stages[1].pName = "red";
  VkPipelineVertexInputStateCreateInfo input = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo assembly = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
  VkViewport viewport = {0, 0, 64, 64, 0, 1};
  VkRect2D scissor = {{0, 0}, {64, 64}};
  VkPipelineViewportStateCreateInfo viewports = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  viewports.viewportCount = viewports.scissorCount = 1;
  viewports.pViewports = &viewport;
  viewports.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo samples = {.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
  VkPipelineColorBlendAttachmentState blend = {.colorWriteMask = 15};
  VkPipelineColorBlendStateCreateInfo blends = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blends.attachmentCount = 1;
  blends.pAttachments = &blend;
  VkGraphicsPipelineCreateInfo graphics = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .layout = layout};
  graphics.stageCount = 2;
  graphics.pStages = stages;
  graphics.pVertexInputState = &input;
  graphics.pInputAssemblyState = &assembly;
  graphics.pViewportState = &viewports;
  graphics.pRasterizationState = &raster;
  graphics.pMultisampleState = &samples;
  graphics.pColorBlendState = &blends;
  graphics.renderPass = pass;
  VkPipeline painter;
  check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &graphics, NULL, &painter), "vkCreateGraphicsPipelines");
  name_object(VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)painter, "red triangle");

  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  VkClearValue clear = {{{0, 0, 0, 0}}};
  VkRenderPassBeginInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, .renderPass = pass};
  info.framebuffer = frame;
  info.renderArea = scissor;
  info.clearValueCount = 1;
  info.pClearValues = &clear;
  vkCmdBeginRenderPass(commands, &info, VK_SUBPASS_CONTENTS_INLINE);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, painter);
  for (int i = 0; i < 3; ++i) vkCmdDraw(commands, 3, 1, 0, 0);
  vkCmdEndRenderPass(commands);
  VkBufferImageCopy region = {.imageExtent = {32, 32, 1}};
  region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1, &region);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  submit_and_wait(commands);
  uint32_t texel;
  memcpy(&texel, mapped, sizeof texel);
  if (texel != 0xff0000ff) exit(1);
}
