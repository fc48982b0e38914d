/* Vulkan as any program uses it. The first argument says what it does:
 *
 *   finish     a command buffer with 20 dispatches in a label "twenty", a copy and a fill; everything is awaited
 *   again      a command buffer with 2 dispatches, submitted 40 times without waiting in between
 *   secondary  3 dispatches in a secondary command buffer, which runs in a primary one that is submitted twice
 *   across     a label that begins in one command buffer and ends in the next; a label of the queue around both
 *   draw       3 draws in a render pass
 *   threads    4 threads record command buffers with 5 dispatches each, 20 times
 *   wait       a command buffer that waits for an event which the host sets after a second, and is then awaited
 *   pending    the same event is never set; the program exits without Vulkan's help
 *   destroy    the device is destroyed while 20 dispatches are pending
 *   killed     5 dispatches, then a second of rest, then SIGKILL
 *   serve      a command buffer that was recorded at the start is submitted again until the program is killed
 *
 * Exits with 77 if there is no device. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define ELEMENTS 4096
#define BYTES (ELEMENTS * sizeof(float))

/* Compiled from: x[gl_GlobalInvocationID.x] *= 2, with 64 threads in a group. The entry points are "twice", "tri",
 * "red". */
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

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkBuffer buffer, other;
static float* mapped;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static VkDescriptorSet set;
static PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
static PFN_vkCmdEndDebugUtilsLabelEXT end_label;
static PFN_vkQueueBeginDebugUtilsLabelEXT begin_queue_label;
static PFN_vkQueueEndDebugUtilsLabelEXT end_queue_label;
static PFN_vkSetDebugUtilsObjectNameEXT set_name;

static void check(VkResult result, const char* what) {
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

static VkBuffer make_buffer(float** where) {
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

static void name_object(VkObjectType type, uint64_t object, const char* name) {
  VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
  info.objectType = type;
  info.objectHandle = object;
  info.pObjectName = name;
  if (set_name != NULL) check(set_name(device, &info), "vkSetDebugUtilsObjectNameEXT");
}

static int open_device(void) {
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

static VkShaderModule make_shader(const uint32_t* code, size_t bytes) {
  VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes};
  info.pCode = code;
  VkShaderModule made;
  check(vkCreateShaderModule(device, &info, NULL, &made), "vkCreateShaderModule");
  return made;
}

static void make_pipeline(void) {
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

static VkCommandPool make_pool(void) {
  VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  VkCommandPool made;
  check(vkCreateCommandPool(device, &info, NULL, &made), "vkCreateCommandPool");
  return made;
}

static VkCommandBuffer make_commands(VkCommandPool from, VkCommandBufferLevel level) {
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = from};
  info.level = level;
  info.commandBufferCount = 1;
  VkCommandBuffer made;
  check(vkAllocateCommandBuffers(device, &info, &made), "vkAllocateCommandBuffers");
  return made;
}

static void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) {
  VkCommandBufferInheritanceInfo none = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags};
  info.pInheritanceInfo = &none;
  check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

static void add_dispatches(VkCommandBuffer commands, int count) {
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

static void submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  check(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
}

static VkFence make_fence(void) {
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkFence fence;
  check(vkCreateFence(device, &info, NULL, &fence), "vkCreateFence");
  return fence;
}

static void submit_and_wait(VkCommandBuffer commands) {
  VkFence fence = make_fence();
  submit(commands, fence);
  check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  vkDestroyFence(device, fence, NULL);
}

static VkDebugUtilsLabelEXT label(const char* text) {
  VkDebugUtilsLabelEXT made = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = text};
  return made;
}

static void do_finish(void) {
  for (int i = 0; i < ELEMENTS; ++i) mapped[i] = (float)i;
  name_object(VK_OBJECT_TYPE_QUEUE, (uint64_t)(uintptr_t)queue, "main queue");
  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  name_object(VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)commands, "whole");
  begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  VkDebugUtilsLabelEXT twenty = label("twenty");
  begin_label(commands, &twenty);
  add_dispatches(commands, 20);
  end_label(commands);
  VkBufferCopy region = {0, 0, BYTES};
  vkCmdCopyBuffer(commands, buffer, other, 1, &region);
  vkCmdFillBuffer(commands, other, 0, BYTES / 2, 0);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  submit_and_wait(commands);
  if (mapped[3] != 3.0f * 1048576.0f) exit(1);
  vkFreeCommandBuffers(device, pool, 1, &commands);
}

static void do_again(int times) {
  for (int i = 0; i < ELEMENTS; ++i) mapped[i] = 0;
  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  add_dispatches(commands, 2);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  for (int i = 0; i < times; ++i) submit(commands, VK_NULL_HANDLE);
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
}

static void do_secondary(void) {
  VkCommandBuffer inner = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
  begin(inner, 0);
  add_dispatches(inner, 3);
  check(vkEndCommandBuffer(inner), "vkEndCommandBuffer");
  VkCommandBuffer outer = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(outer, 0);
  vkCmdFillBuffer(outer, other, 0, BYTES, 0);
  vkCmdExecuteCommands(outer, 1, &inner);
  vkCmdFillBuffer(outer, other, 0, BYTES, 1);
  check(vkEndCommandBuffer(outer), "vkEndCommandBuffer");
  submit_and_wait(outer);
  submit_and_wait(outer);
}

static void do_across(void) {
  VkDebugUtilsLabelEXT frame = label("frame"), both = label("both");
  VkCommandBuffer commands[2];
  for (int i = 0; i < 2; ++i) {
    commands[i] = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(commands[i], 0);
    if (i == 0) begin_label(commands[i], &frame);
    add_dispatches(commands[i], 1);
    if (i == 1) end_label(commands[i]);
    check(vkEndCommandBuffer(commands[i]), "vkEndCommandBuffer");
  }
  begin_queue_label(queue, &both);
  submit(commands[0], VK_NULL_HANDLE);
  submit(commands[1], VK_NULL_HANDLE);
  end_queue_label(queue);
  check(vkDeviceWaitIdle(device), "vkDeviceWaitIdle");
}

static void* record_and_submit(void* unused) {
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  VkCommandPool own = make_pool();
  VkCommandBuffer commands = make_commands(own, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  for (int i = 0; i < 20; ++i) {
    begin(commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    add_dispatches(commands, 5);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkFence fence = make_fence();
    pthread_mutex_lock(&turn);
    submit(commands, fence);
    pthread_mutex_unlock(&turn);
    check(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    vkDestroyFence(device, fence, NULL);
  }
  vkDestroyCommandPool(device, own, NULL);
  return unused;
}

static void do_threads(void) {
  for (int i = 0; i < ELEMENTS; ++i) mapped[i] = 0;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, record_and_submit, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void do_wait(int is_set) {
  VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
  VkEvent event;
  check(vkCreateEvent(device, &info, NULL, &event), "vkCreateEvent");
  VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(commands, 0);
  vkCmdWaitEvents(commands, 1, &event, VK_PIPELINE_STAGE_HOST_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, NULL, 0,
                  NULL, 0, NULL);
  add_dispatches(commands, 1);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  submit(commands, VK_NULL_HANDLE);
  if (!is_set) exit(0);
  sleep(1);
  check(vkSetEvent(device, event), "vkSetEvent");
  check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
}

/* A render pass with one image. */
static void do_draw(void) {
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

static void do_serve(void) {
  for (int i = 0; i < ELEMENTS; ++i) mapped[i] = 0;
  VkCommandBuffer old = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  VkCommandBuffer fresh = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
  begin(old, 0);
  add_dispatches(old, 1);
  check(vkEndCommandBuffer(old), "vkEndCommandBuffer");
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    begin(fresh, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    add_dispatches(fresh, 1);
    check(vkEndCommandBuffer(fresh), "vkEndCommandBuffer");
    submit_and_wait(old);
    submit_and_wait(fresh);
    usleep(1000);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "finish";
  if (!open_device()) {
    fprintf(stderr, "no Vulkan device here\n");
    return 77;
  }
  pool = make_pool();
  buffer = make_buffer(&mapped);
  other = make_buffer(NULL);
  make_pipeline();
  if (strcmp(what, "finish") == 0) do_finish();
  if (strcmp(what, "again") == 0) do_again(40);
  if (strcmp(what, "secondary") == 0) do_secondary();
  if (strcmp(what, "across") == 0) do_across();
  if (strcmp(what, "draw") == 0) do_draw();
  if (strcmp(what, "threads") == 0) do_threads();
  if (strcmp(what, "wait") == 0) do_wait(1);
  if (strcmp(what, "pending") == 0) do_wait(0);
  if (strcmp(what, "serve") == 0) do_serve();
  if (strcmp(what, "killed") == 0) {
    VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(commands, 0);
    add_dispatches(commands, 5);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    submit_and_wait(commands);
    sleep(1);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "destroy") == 0) {
    VkCommandBuffer commands = make_commands(pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(commands, 0);
    add_dispatches(commands, 20);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    submit(commands, VK_NULL_HANDLE);
  }
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(instance, NULL);
  return 0;
}
