// What the layer's functions share.
#pragma once

#include <cstdint>
#include <string_view>

#include "inject/vulkan/recorder.h"
#include "record/interfaces.h"
#include "record/slots.h"

namespace kymo::inject::vulkan {

using Next = DeviceFunctions;

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

// The program has given a name to a pipeline that exists.
void rename_pipeline(uint64_t pipeline, std::string_view name);

}  // namespace kymo::inject::vulkan
