// Labels and names that the program gives: VK_EXT_debug_utils, and the older VK_EXT_debug_marker.
#include <string.h>

#include <new>

#include "inject/vulkan/calls.h"
#include "inject/vulkan/pipeline_names.h"

namespace kymo::inject::vulkan {
namespace {

constexpr size_t kMaxName = 256;

void add_label_step(VkCommandBuffer handle, Step::Kind kind, const char* text, VkPipelineStageFlagBits stage) noexcept {
  CommandBufferState* buffer = objects().buffer(handle);
  if (buffer == nullptr || buffer->commands == nullptr) return;
  try {
    Step step;
    step.kind = kind;
    if (kind != Step::Kind::EndLabel) step.extra = buffer->commands->add_text(text);
    step.begin = write_time(*buffer, stage);
    buffer->commands->add(step);
  } catch (const std::bad_alloc&) {  // the label is missing in the trace
  }
}

void begin_label(VkCommandBuffer handle, const char* text) noexcept {
  add_label_step(handle, Step::Kind::BeginLabel, text, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
}
void end_label(VkCommandBuffer handle) noexcept {
  add_label_step(handle, Step::Kind::EndLabel, nullptr, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}
void insert_label(VkCommandBuffer handle, const char* text) noexcept {
  add_label_step(handle, Step::Kind::Mark, text, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}

const char* text_of(const VkDebugUtilsLabelEXT& label) noexcept { return label.pLabelName; }
const char* text_of(const VkDebugMarkerMarkerInfoEXT& marker) noexcept { return marker.pMarkerName; }

// Two extensions have the same calls.
template <auto kNext, class Label>
VKAPI_ATTR void VKAPI_CALL begin_call(VkCommandBuffer handle, const Label* label) noexcept {
  begin_label(handle, text_of(*label));
  (device_of(handle).next.*kNext)(handle, label);
}

template <auto kNext>
VKAPI_ATTR void VKAPI_CALL end_call(VkCommandBuffer handle) noexcept {
  (device_of(handle).next.*kNext)(handle);
  end_label(handle);
}

template <auto kNext, class Label>
VKAPI_ATTR void VKAPI_CALL insert_call(VkCommandBuffer handle, const Label* label) noexcept {
  insert_label(handle, text_of(*label));
  (device_of(handle).next.*kNext)(handle, label);
}

// ---- Labels of queues

void add_queue_label(VkQueue handle, Pending::Kind kind, const char* text) noexcept {
  QueueState* queue = objects().queue(handle);
  if (queue == nullptr || queue->timestamp_bits == 0) return;
  if (!kymo::detail::recording()) return;
  try {
    Pending pending;
    pending.kind = kind;
    if (text != nullptr) pending.text.assign(text, strnlen(text, kMaxName));
    pending.recording = recorder().recording();
    recorder().add(*queue, std::move(pending));
  } catch (const std::bad_alloc&) {  // the label is missing in the trace
  }
}

VKAPI_ATTR void VKAPI_CALL queue_begin_label(VkQueue queue, const VkDebugUtilsLabelEXT* label) noexcept {
  add_queue_label(queue, Pending::Kind::BeginLabel, label->pLabelName);
  device_of(queue).next.QueueBeginDebugUtilsLabelEXT(queue, label);
}

VKAPI_ATTR void VKAPI_CALL queue_end_label(VkQueue queue) noexcept {
  add_queue_label(queue, Pending::Kind::EndLabel, nullptr);
  device_of(queue).next.QueueEndDebugUtilsLabelEXT(queue);
}

VKAPI_ATTR void VKAPI_CALL queue_insert_label(VkQueue queue, const VkDebugUtilsLabelEXT* label) noexcept {
  add_queue_label(queue, Pending::Kind::Mark, label->pLabelName);
  device_of(queue).next.QueueInsertDebugUtilsLabelEXT(queue, label);
}

// ---- Names

// An empty name removes the one that the object has.
void note_name(DeviceState& device, VkObjectType type, uint64_t object, const char* untrusted) noexcept {
  try {
    std::string name(untrusted != nullptr ? std::string(untrusted, strnlen(untrusted, kMaxName)) : "");
    {
      const std::lock_guard lock(device.mutex);
      if (name.empty()) {
        device.names.erase({type, object});
        return;
      }
      device.names[{type, object}] = name;
    }
    if (type == VK_OBJECT_TYPE_PIPELINE) rename_pipeline(object, name);
  } catch (const std::bad_alloc&) {  // it has no name
  }
}

VKAPI_ATTR VkResult VKAPI_CALL set_object_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) noexcept {
  DeviceState& state = device_of(device);
  note_name(state, info->objectType, info->objectHandle, info->pObjectName);
  return state.next.SetDebugUtilsObjectNameEXT(device, info);
}

VkObjectType type_of(VkDebugReportObjectTypeEXT type) noexcept {
  switch (type) {
    case VK_DEBUG_REPORT_OBJECT_TYPE_QUEUE_EXT:
      return VK_OBJECT_TYPE_QUEUE;
    case VK_DEBUG_REPORT_OBJECT_TYPE_COMMAND_BUFFER_EXT:
      return VK_OBJECT_TYPE_COMMAND_BUFFER;
    case VK_DEBUG_REPORT_OBJECT_TYPE_PIPELINE_EXT:
      return VK_OBJECT_TYPE_PIPELINE;
    case VK_DEBUG_REPORT_OBJECT_TYPE_SHADER_MODULE_EXT:
      return VK_OBJECT_TYPE_SHADER_MODULE;
    default:
      return VK_OBJECT_TYPE_UNKNOWN;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL marker_set_name(VkDevice device, const VkDebugMarkerObjectNameInfoEXT* info) noexcept {
  DeviceState& state = device_of(device);
  note_name(state, type_of(info->objectType), info->object, info->pObjectName);
  return state.next.DebugMarkerSetObjectNameEXT(device, info);
}

}  // namespace

const PFN_vkCmdBeginDebugUtilsLabelEXT layer::CmdBeginDebugUtilsLabelEXT =
    begin_call<&DeviceFunctions::CmdBeginDebugUtilsLabelEXT>;
const PFN_vkCmdEndDebugUtilsLabelEXT layer::CmdEndDebugUtilsLabelEXT =
    end_call<&DeviceFunctions::CmdEndDebugUtilsLabelEXT>;
const PFN_vkCmdInsertDebugUtilsLabelEXT layer::CmdInsertDebugUtilsLabelEXT =
    insert_call<&DeviceFunctions::CmdInsertDebugUtilsLabelEXT>;
const PFN_vkQueueBeginDebugUtilsLabelEXT layer::QueueBeginDebugUtilsLabelEXT = queue_begin_label;
const PFN_vkQueueEndDebugUtilsLabelEXT layer::QueueEndDebugUtilsLabelEXT = queue_end_label;
const PFN_vkQueueInsertDebugUtilsLabelEXT layer::QueueInsertDebugUtilsLabelEXT = queue_insert_label;
const PFN_vkSetDebugUtilsObjectNameEXT layer::SetDebugUtilsObjectNameEXT = set_object_name;
const PFN_vkCmdDebugMarkerBeginEXT layer::CmdDebugMarkerBeginEXT = begin_call<&DeviceFunctions::CmdDebugMarkerBeginEXT>;
const PFN_vkCmdDebugMarkerEndEXT layer::CmdDebugMarkerEndEXT = end_call<&DeviceFunctions::CmdDebugMarkerEndEXT>;
const PFN_vkCmdDebugMarkerInsertEXT layer::CmdDebugMarkerInsertEXT =
    insert_call<&DeviceFunctions::CmdDebugMarkerInsertEXT>;
const PFN_vkDebugMarkerSetObjectNameEXT layer::DebugMarkerSetObjectNameEXT = marker_set_name;

}  // namespace kymo::inject::vulkan
