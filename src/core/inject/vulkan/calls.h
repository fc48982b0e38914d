// What the layer's functions share.
#pragma once

#include "inject/vulkan/recorder.h"
#include "record/interfaces.h"
#include "record/thread.h"

namespace kymo::inject::vulkan {

inline void count_call() noexcept {
  if (record::Slot* slot = record::this_slot) record::count_delivered(*slot, record::Interface::Vulkan);
}

// The layer's functions are called only for devices that it knows.
template <class Handle>
DeviceState& device_of(Handle handle) noexcept {
  return *objects().device(key_of(handle));
}

// A call on its thread, from its begin to its end, if something records.
template <class Call>
auto recorded_call(Site& site, Call call) noexcept {
  const uint64_t began = kymo::detail::recording() ? kymo_ticks() : 0;
  const auto result = call();
  if (began != 0) {
    kymo_span_at(&site, nullptr, 0, began, 0);
    count_call();
  }
  return result;
}

// The driver's result says if the device is lost, after which nothing completes.
inline VkResult noted(DeviceState& device, VkResult result) noexcept {
  if (result == VK_ERROR_DEVICE_LOST) device.is_lost.store(true, std::memory_order_relaxed);
  return result;
}

// A timestamp in the command buffer; Step::kNoQuery: it has none here.
uint32_t write_time(CommandBufferState& buffer, VkPipelineStageFlagBits stage) noexcept;

inline uint32_t write_begin(CommandBufferState& buffer) noexcept {
  return write_time(buffer, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
}
inline uint32_t write_end(CommandBufferState& buffer) noexcept {
  return write_time(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}

// Adds a step. If there is no memory for it, the step is missing in the trace.
void add_step(CommandBufferState& buffer, const Step& step) noexcept;

// KYMO_VULKAN_COMMANDS=off: only command buffers, render passes and labels have times, not each command.
bool are_commands_timed() noexcept;

// One command of the program. `describe` returns the step and is called only if it is recorded.
template <class Describe, class Call>
void command(VkCommandBuffer handle, Describe describe, Call call) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr) return call(device_of(handle).next);
  if (buffer->commands == nullptr) return call(buffer->device->next);
  if (!are_commands_timed()) {
    call(buffer->device->next);
    return add_step(*buffer, describe(*buffer));
  }
  const uint32_t begin = write_begin(*buffer);
  call(buffer->device->next);
  const uint32_t end = write_end(*buffer);
  Step step = describe(*buffer);
  step.begin = begin;
  step.end = end;
  add_step(*buffer, step);
}

}  // namespace kymo::inject::vulkan
