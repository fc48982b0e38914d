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

#include "vulkan_draw.h"
#include "vulkan_setup.h"

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
