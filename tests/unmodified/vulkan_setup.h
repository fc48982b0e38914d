/* A device of Vulkan with what the work of a test needs: buffers, a kernel that doubles them, command buffers. Every
 * failure ends the program. */
#ifndef VULKAN_SETUP_H
#define VULKAN_SETUP_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#define ELEMENTS 4096
#define BYTES (ELEMENTS * sizeof(float))

extern VkInstance instance;
extern VkDevice device;
extern VkQueue queue;
extern VkCommandPool pool;
extern VkBuffer buffer, other;
extern float* mapped;
extern VkPipelineLayout layout;
extern PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
extern PFN_vkCmdEndDebugUtilsLabelEXT end_label;
extern PFN_vkQueueBeginDebugUtilsLabelEXT begin_queue_label;
extern PFN_vkQueueEndDebugUtilsLabelEXT end_queue_label;

void check(VkResult result, const char* what);
VkBuffer make_buffer(float** where);
void name_object(VkObjectType type, uint64_t object, const char* name);
int open_device(void);
VkShaderModule make_shader(const uint32_t* code, size_t bytes);
void make_pipeline(void);
VkCommandPool make_pool(void);
VkCommandBuffer make_commands(VkCommandPool from, VkCommandBufferLevel level);
void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags);
void add_dispatches(VkCommandBuffer commands, int count);
void submit(VkCommandBuffer commands, VkFence fence);
VkFence make_fence(void);
void submit_and_wait(VkCommandBuffer commands);

#endif
