/* The processor time of the calling thread for Vulkan's calls, in nanoseconds, the least of several rounds:
 *
 *   vulkan_commands dispatch    vkCmdDispatch, into a command buffer that is not submitted
 *   vulkan_commands submit      vkQueueSubmit of a command buffer with one dispatch
 *
 * Exits with 77 if there is no device. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

enum { kRounds = 40, kDispatches = 2000, kSubmissions = 200 };

/* An empty function "main" with groups of one thread. */
static const uint32_t code[] = {
    0x07230203, 0x00010000, 0,          5,          0, 0x00020011, 1, 0x0003000e, 0, 1,          0x0005000f, 5,
    1,          0x6e69616d, 0,          0x00060010, 1, 17,         1, 1,          1, 0x00020013, 2,          0x00030021,
    3,          2,          0x00050036, 2,          1, 0,          3, 0x000200f8, 4, 0x000100fd, 0x00010038,
};

static VkDevice device;
static VkQueue queue;
static VkPipeline pipeline;

static double processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int open_device(void) {
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkInstance instance;
  VkPhysicalDevice physical;
  uint32_t count = 1;
  if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS) return 0;
  if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || count == 0) return 0;
  const float priority = 1;
  VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queues;
  if (vkCreateDevice(physical, &create, NULL, &device) != VK_SUCCESS) return 0;
  vkGetDeviceQueue(device, 0, 0, &queue);
  return 1;
}

static int make_pipeline(void) {
  VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code};
  shader.pCode = code;
  VkPipelineLayoutCreateInfo layouts = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  VkComputePipelineCreateInfo compute = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  compute.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  compute.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  compute.stage.pName = "main";
  return vkCreateShaderModule(device, &shader, NULL, &compute.stage.module) == VK_SUCCESS &&
         vkCreatePipelineLayout(device, &layouts, NULL, &compute.layout) == VK_SUCCESS &&
         vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &compute, NULL, &pipeline) == VK_SUCCESS;
}

static void record(VkCommandBuffer commands, int dispatches) {
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  vkBeginCommandBuffer(commands, &info);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  for (int i = 0; i < dispatches; ++i) vkCmdDispatch(commands, 1, 1, 1);
  vkEndCommandBuffer(commands);
}

int main(int argc, char** argv) {
  const int is_submit = argc > 1 && strcmp(argv[1], "submit") == 0;
  if (!open_device()) return 77;
  if (!make_pipeline()) return 1;
  VkCommandPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pools.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  VkCommandPool pool;
  if (vkCreateCommandPool(device, &pools, NULL, &pool) != VK_SUCCESS) return 1;
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool};
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands;
  if (vkAllocateCommandBuffers(device, &allocate, &commands) != VK_SUCCESS) return 1;
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  double least = 0;
  if (is_submit) record(commands, 1);
  for (int round = 0; round <= kRounds; ++round) { /* the first is not counted */
    const double began = processor_ns();
    if (is_submit) {
      for (int i = 0; i < kSubmissions; ++i)
        if (vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE) != VK_SUCCESS) return 1;
    } else {
      record(commands, kDispatches);
    }
    const double took = (processor_ns() - began) / (is_submit ? kSubmissions : kDispatches);
    if (round != 0 && (least == 0 || took < least)) least = took;
    vkQueueWaitIdle(queue);
  }
  printf("%.1f\n", least);
  return 0;
}
