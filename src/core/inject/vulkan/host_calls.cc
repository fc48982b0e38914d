// Waits of the program's threads, the presentation of images, memory, shaders and pipelines.
#include <string.h>

#include <array>
#include <new>
#include <span>
#include <string>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "inject/vulkan/calls.h"
#include "kymo/queue.h"

namespace kymo::inject::vulkan {
namespace {

// Readers know a wait for a device by this category and by "wait".
constinit Site fence_wait(Label("wait for fences", "device")), semaphore_wait(Label("wait for semaphores", "device")),
    queue_wait(Label("wait for queue", "device")), device_wait(Label("wait for device", "device")),
    image_wait(Label("wait for image", "device")), present_site(Label("present", "device"));
constexpr Label kVulkanMemory("device memory", "memory");

// The layer's function for a call that takes long, with a span around it.
template <auto kNext, Site& kSite, class Handle, class... Args>
VKAPI_ATTR VkResult VKAPI_CALL recorded(Handle handle, Args... args) noexcept {
  DeviceState& state = device_of(handle);
  return noted(state, recorded_call(kSite, [&] { return (state.next.*kNext)(handle, args...); }));
}

// The same for a wait. Its last parameter is the timeout: programs also poll with 0.
template <auto kNext, Site& kSite, class... Args>
VKAPI_ATTR VkResult VKAPI_CALL recorded_wait(VkDevice device, Args... args) noexcept {
  const uint64_t timeout = std::get<sizeof...(Args) - 1>(std::tie(args...));
  if (timeout != 0) return recorded<kNext, kSite>(device, args...);
  DeviceState& state = device_of(device);
  return noted(state, (state.next.*kNext)(device, args...));
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_queue(VkQueue handle) noexcept {
  DeviceState& state = device_of(handle);
  const VkResult result = recorded_call(queue_wait, [&] { return state.next.QueueWaitIdle(handle); });
  if (QueueState* queue = result == VK_SUCCESS ? objects().queue(handle) : nullptr) queue->slots.idle();
  return noted(state, result);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_device(VkDevice device) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = recorded_call(device_wait, [&] { return state.next.DeviceWaitIdle(device); });
  if (result == VK_SUCCESS) {
    const std::lock_guard lock(state.mutex);
    for (const auto& queue : state.queues) queue->slots.idle();
  }
  return noted(state, result);
}

// ---- Memory

VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* allocator,
                                               VkDeviceMemory* memory) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.AllocateMemory(device, info, allocator, memory);
  if (result != VK_SUCCESS || !kymo::detail::recording()) return result;
  try {
    const uint32_t type = info->memoryTypeIndex;
    const bool on_device = type < state.memory.memoryTypeCount &&
                           (state.memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    std::string place = on_device ? state.name : state.name + " (host memory)";
    const std::array args{kymo::bytes("bytes", info->allocationSize), kymo::arg("device", std::string_view(place))};
    kymo_allocation(&kVulkanMemory, args.data(), args.size(), number_of(*memory));
    count_call();
    const std::lock_guard lock(state.mutex);
    state.allocations[number_of(*memory)] = {info->allocationSize, std::move(place)};
  } catch (const std::bad_alloc&) {  // the allocation is missing
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                       const VkAllocationCallbacks* allocator) noexcept {
  DeviceState& state = device_of(device);
  std::pair<uint64_t, std::string> freed;
  if (memory != VK_NULL_HANDLE) {
    const std::lock_guard lock(state.mutex);
    if (auto node = state.allocations.extract(number_of(memory)); !node.empty()) freed = std::move(node.mapped());
  }
  if (!freed.second.empty()) {
    const std::array args{kymo::bytes("bytes", freed.first), kymo::arg("device", std::string_view(freed.second))};
    kymo_free(&kVulkanMemory, args.data(), args.size(), number_of(memory));
    count_call();
  }
  state.next.FreeMemory(device, memory, allocator);
}

}  // namespace

KYMO_VULKAN_LAYER(WaitForFences) = recorded_wait<&Next::WaitForFences, fence_wait>;
KYMO_VULKAN_LAYER(WaitSemaphores) = recorded_wait<&Next::WaitSemaphores, semaphore_wait>;
KYMO_VULKAN_LAYER(QueueWaitIdle) = wait_for_queue;
KYMO_VULKAN_LAYER(DeviceWaitIdle) = wait_for_device;
KYMO_VULKAN_LAYER(QueuePresentKHR) = recorded<&Next::QueuePresentKHR, present_site>;
KYMO_VULKAN_LAYER(AcquireNextImageKHR) = recorded<&Next::AcquireNextImageKHR, image_wait>;
KYMO_VULKAN_LAYER(AcquireNextImage2KHR) = recorded<&Next::AcquireNextImage2KHR, image_wait>;
KYMO_VULKAN_LAYER(AllocateMemory) = allocate_memory;
KYMO_VULKAN_LAYER(FreeMemory) = free_memory;

// ---- Shaders and pipelines: compiling them, and how their work is called in the trace
//
// By the name that the program gave to the pipeline, or to its shader. Otherwise by the function in the shader, if that
// is not just "main"; otherwise by a hash of the shader's code, which is the same in every run.

namespace {

constinit Site compile_site(Label("create pipelines", "compile"));
constexpr size_t kMaxEntryName = 256;

VKAPI_ATTR VkResult VKAPI_CALL create_shader(VkDevice device, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkShaderModule* shader) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = state.next.CreateShaderModule(device, info, allocator, shader);
  if (result != VK_SUCCESS || info->pCode == nullptr) return result;
  try {
    const uint64_t hash = base::hash(std::as_bytes(std::span(info->pCode, info->codeSize / sizeof(uint32_t))));
    const std::lock_guard lock(state.mutex);
    state.shaders[number_of(*shader)] = hash;
  } catch (const std::bad_alloc&) {  // its pipelines have no names
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_shader(VkDevice device, VkShaderModule shader,
                                          const VkAllocationCallbacks* allocator) noexcept {
  DeviceState& state = device_of(device);
  {
    const std::lock_guard lock(state.mutex);
    state.shaders.erase(number_of(shader));
    state.names.erase({VK_OBJECT_TYPE_SHADER_MODULE, number_of(shader)});
  }
  state.next.DestroyShaderModule(device, shader, allocator);
}

std::string shader_name(DeviceState& device, const VkPipelineShaderStageCreateInfo& stage, std::string_view otherwise) {
  const std::string named = device.name_of(VK_OBJECT_TYPE_SHADER_MODULE, number_of(stage.module));
  if (!named.empty()) return named;
  if (stage.pName != nullptr && strcmp(stage.pName, "main") != 0)
    return {stage.pName, strnlen(stage.pName, kMaxEntryName)};
  uint64_t hash = 0;
  {
    const std::lock_guard lock(device.mutex);
    if (const auto found = device.shaders.find(number_of(stage.module)); found != device.shaders.end())
      hash = found->second;
  }
  // A program may give the code with the pipeline, without a module.
  if (const auto* code =
          find_in_chain<VkShaderModuleCreateInfo>(stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO))
    if (code->pCode != nullptr)
      hash = base::hash(std::as_bytes(std::span(code->pCode, code->codeSize / sizeof(uint32_t))));
  return hash != 0 ? base::format("{} {:08x}", otherwise, static_cast<uint32_t>(hash)) : std::string(otherwise);
}

// What a pipeline and its work are called by.
struct Naming {
  const VkPipelineShaderStageCreateInfo* stage = nullptr;  // null: it has no shader
  const char *otherwise = nullptr, *category = nullptr;
};

Naming naming_of(const VkComputePipelineCreateInfo& info) noexcept { return {&info.stage, "dispatch", "kernel"}; }

// By its fragment shader, or by the last one that it has.
Naming naming_of(const VkGraphicsPipelineCreateInfo& info) noexcept {
  Naming naming{nullptr, "draw", "draw"};
  for (uint32_t i = 0; i < info.stageCount && info.pStages != nullptr; ++i) {
    naming.stage = &info.pStages[i];
    if (naming.stage->stage == VK_SHADER_STAGE_FRAGMENT_BIT) break;
  }
  return naming;
}

template <auto kNext, class Info>
VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const Info* infos, const VkAllocationCallbacks* allocator,
                                                VkPipeline* pipelines) noexcept {
  DeviceState& state = device_of(device);
  const VkResult result = recorded_call(
      compile_site, [&] { return (state.next.*kNext)(device, cache, count, infos, allocator, pipelines); });
  try {
    for (uint32_t i = 0; i < count; ++i) {
      const Naming naming = naming_of(infos[i]);
      if (pipelines[i] == VK_NULL_HANDLE || naming.stage == nullptr) continue;
      objects().name_pipeline(pipelines[i], shader_name(state, *naming.stage, naming.otherwise), naming.category);
    }
  } catch (const std::bad_alloc&) {  // their work has no names
  }
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice device, VkPipeline pipeline,
                                            const VkAllocationCallbacks* allocator) noexcept {
  DeviceState& state = device_of(device);
  objects().remove_pipeline(pipeline);
  {
    const std::lock_guard lock(state.mutex);
    state.names.erase({VK_OBJECT_TYPE_PIPELINE, number_of(pipeline)});
  }
  state.next.DestroyPipeline(device, pipeline, allocator);
}

}  // namespace

void rename_pipeline(uint64_t pipeline, std::string_view name) {
  const auto handle = (VkPipeline)pipeline;  // NOLINT(google-readability-casting): as in number_of
  const PipelineState* known = objects().pipeline(handle);
  const Site* site = known != nullptr ? known->work.load(std::memory_order_relaxed) : nullptr;
  if (site == nullptr) return;
  const bool is_draw = std::string_view(site->label.category) == "draw";
  objects().name_pipeline(handle, name, is_draw ? "draw" : "kernel");
}

KYMO_VULKAN_LAYER(CreateShaderModule) = create_shader;
KYMO_VULKAN_LAYER(DestroyShaderModule) = destroy_shader;
KYMO_VULKAN_LAYER(CreateComputePipelines) = create_pipelines<&Next::CreateComputePipelines>;
KYMO_VULKAN_LAYER(CreateGraphicsPipelines) = create_pipelines<&Next::CreateGraphicsPipelines>;
KYMO_VULKAN_LAYER(DestroyPipeline) = destroy_pipeline;

}  // namespace kymo::inject::vulkan
