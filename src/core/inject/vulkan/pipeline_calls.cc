// Shaders and pipelines: compiling them, and their names.
#include <string.h>

#include <new>
#include <span>

#include "base/hash.h"
#include "base/text.h"
#include "inject/vulkan/calls.h"
#include "inject/vulkan/pipeline_names.h"

namespace kymo::inject::vulkan {
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

const PFN_vkCreateShaderModule layer::CreateShaderModule = create_shader;
const PFN_vkDestroyShaderModule layer::DestroyShaderModule = destroy_shader;
const PFN_vkCreateComputePipelines layer::CreateComputePipelines =
    create_pipelines<&DeviceFunctions::CreateComputePipelines>;
const PFN_vkCreateGraphicsPipelines layer::CreateGraphicsPipelines =
    create_pipelines<&DeviceFunctions::CreateGraphicsPipelines>;
const PFN_vkDestroyPipeline layer::DestroyPipeline = destroy_pipeline;

}  // namespace kymo::inject::vulkan
