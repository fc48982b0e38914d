#include "vulkan_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compiled from: x[gl_GlobalInvocationID.x] *= 2, with 64 threads in a group. The entry point is "twice". */
static const uint32_t twice_code[] = {
    0x7230203,  0x10000, 0x8000b, 0x1e,       0x0,     0x20011, 0x1,     0x6000b, 0x1,        0x4c534c47, 0x6474732e,
    0x3035342e, 0x0,     0x3000e, 0x0,        0x1,     0x6000f, 0x5,     0x4,     0x63697774, 0x65,       0x10,
    0x60010,    0x4,     0x11,    0x40,       0x1,     0x1,     0x40047, 0x7,     0x6,        0x4,        0x50048,
    0x8,        0x0,     0x23,    0x0,        0x30047, 0x8,     0x3,     0x40047, 0xa,        0x22,       0x0,
    0x40047,    0xa,     0x21,    0x0,        0x40047, 0x10,    0xb,     0x1c,    0x40047,    0x1d,       0xb,
    0x19,       0x20013, 0x2,     0x30021,    0x3,     0x2,     0x30016, 0x6,     0x20,       0x3001d,    0x7,
    0x6,        0x3001e, 0x8,     0x7,        0x40020, 0x9,     0x2,     0x8,     0x4003b,    0x9,        0xa,
    0x2,        0x40015, 0xb,     0x20,       0x1,     0x4002b, 0xb,     0xc,     0x0,        0x40015,    0xd,
    0x20,       0x0,     0x40017, 0xe,        0xd,     0x3,     0x40020, 0xf,     0x1,        0xe,        0x4003b,
    0xf,        0x10,    0x1,     0x4002b,    0xd,     0x11,    0x0,     0x40020, 0x12,       0x1,        0xd,
    0x4002b,    0x6,     0x15,    0x40000000, 0x40020, 0x16,    0x2,     0x6,     0x4002b,    0xd,        0x1b,
    0x40,       0x4002b, 0xd,     0x1c,       0x1,     0x6002c, 0xe,     0x1d,    0x1b,       0x1c,       0x1c,
    0x50036,    0x2,     0x4,     0x0,        0x3,     0x200f8, 0x5,     0x50041, 0x12,       0x13,       0x10,
    0x11,       0x4003d, 0xd,     0x14,       0x13,    0x60041, 0x16,    0x17,    0xa,        0xc,        0x14,
    0x4003d,    0x6,     0x18,    0x17,       0x50085, 0x6,     0x19,    0x18,    0x15,       0x3003e,    0x17,
    0x19,       0x100fd, 0x10038,
};

VkInstance instance;
static VkPhysicalDevice physical;
VkDevice device;
VkQueue queue;
VkCommandPool pool;
VkBuffer buffer, other;
float* mapped;
VkPipelineLayout layout;
static VkPipeline pipeline;
static VkDescriptorSet set;
PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
PFN_vkCmdEndDebugUtilsLabelEXT end_label;
PFN_vkQueueBeginDebugUtilsLabelEXT begin_queue_label;
PFN_vkQueueEndDebugUtilsLabelEXT end_queue_label;
static PFN_vkSetDebugUtilsObjectNameEXT set_name;

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

static uint32_t memory_type(uint32_t allowed) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  fprintf(stderr, "no memory type\n");
  exit(1);
}

VkBuffer make_buffer(float** where) {
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES};
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer made;
  check(vkCreateBuffer(device, &info, NULL, &made), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, made, &needs);
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  allocate.memoryTypeIndex = memory_type(needs.memoryTypeBits);
  VkDeviceMemory memory;
  check(vkAllocateMemory(device, &allocate, NULL, &memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device, made, memory, 0), "vkBindBufferMemory");
  if (where != NULL) check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void**)where), "vkMapMemory");
  return made;
}

void name_object(VkObjectType type, uint64_t object, const char* name) {
  VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = name;
  if (set_name != NULL) check(set_name(device, &info), "vkSetDebugUtilsObjectNameEXT");
}

int open_device(void) {
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  info.enabledExtensionCount = 1;
  info.ppEnabledExtensionNames = &extension;
  if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return 0;
  VkPhysicalDevice all[16];
  uint32_t count = 16;
  if (vkEnumeratePhysicalDevices(instance, &count, all) < 0 || count == 0) return 0;
  physical = all[0];
  const float priority = 1;
  VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queues;
  check(vkCreateDevice(physical, &create, NULL, &device), "vkCreateDevice");
  vkGetDeviceQueue(device, 0, 0, &queue);
  begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkCmdBeginDebugUtilsLabelEXT");
  end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(instance, "vkCmdEndDebugUtilsLabelEXT");
  begin_queue_label = (PFN_vkQueueBeginDebugUtilsLabelEXT)vkGetDeviceProcAddr(device, "vkQueueBeginDebugUtilsLabelEXT");
  end_queue_label = (PFN_vkQueueEndDebugUtilsLabelEXT)vkGetDeviceProcAddr(device, "vkQueueEndDebugUtilsLabelEXT");
  set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(instance, "vkSetDebugUtilsObjectNameEXT");
  return 1;
}

VkShaderModule make_shader(const uint32_t* code, size_t bytes) {
  VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes};
  info.pCode = code;
  VkShaderModule made;
  check(vkCreateShaderModule(device, &info, NULL, &made), "vkCreateShaderModule");
  return made;
}

void make_pipeline(void) {
  VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1};
  binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  VkDescriptorSetLayoutCreateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  sets.bindingCount = 1;
  sets.pBindings = &binding;
  VkDescriptorSetLayout set_layout;
  check(vkCreateDescriptorSetLayout(device, &sets, NULL, &set_layout), "vkCreateDescriptorSetLayout");
  VkPipelineLayoutCreateInfo layouts = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layouts.setLayoutCount = 1;
  layouts.pSetLayouts = &set_layout;
  check(vkCreatePipelineLayout(device, &layouts, NULL, &layout), "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo compute = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout};
  compute.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  compute.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  compute.stage.module = make_shader(twice_code, sizeof twice_code);
  compute.stage.pName = "twice";
  check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &compute, NULL, &pipeline), "vkCreateComputePipelines");
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
  VkDescriptorPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1};
  pools.poolSizeCount = 1;
  pools.pPoolSizes = &size;
  VkDescriptorPool descriptors;
  check(vkCreateDescriptorPool(device, &pools, NULL, &descriptors), "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = descriptors;
  allocate.descriptorSetCount = 1;
  allocate.pSetLayouts = &set_layout;
  check(vkAllocateDescriptorSets(device, &allocate, &set), "vkAllocateDescriptorSets");
  VkDescriptorBufferInfo range = {buffer, 0, VK_WHOLE_SIZE};
  VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 1};
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = &range;
  vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

VkCommandPool make_pool(void) {
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  VkCommandPool made;
  check(vkCreateCommandPool(device, &info, NULL, &made), "vkCreateCommandPool");
  return made;
}

VkCommandBuffer make_commands(VkCommandPool from, VkCommandBufferLevel level) {
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = from};
  info.level = level;
  info.commandBufferCount = 1;
  VkCommandBuffer made;
  check(vkAllocateCommandBuffers(device, &info, &made), "vkAllocateCommandBuffers");
  return made;
}

void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) {
  VkCommandBufferInheritanceInfo none = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags};
  info.pInheritanceInfo = &none;
  check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void add_dispatches(VkCommandBuffer commands, int count) {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT;
  for (int i = 0; i < count; ++i) {
    vkCmdDispatch(commands, ELEMENTS / 64, 1, 1);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, NULL,
                         0, NULL);
  }
}

void submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  check(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
}

VkFence make_fence(void) {
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence;
  check(vkCreateFence(device, &info, NULL, &fence), "vkCreateFence");
  return fence;
}

void submit_and_wait(VkCommandBuffer commands) {
  VkFence fence = make_fence();
  submit(commands, fence);
  check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  vkDestroyFence(device, fence, NULL);
}
