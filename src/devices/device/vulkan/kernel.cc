#include "device/vulkan/kernel.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "device/vulkan/spirv_exact.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

[[noreturn]] void refuse_kernel(const std::string& why) { throw CompileError(why, "", 0, 0, why); }

}  // namespace

DeviceKernel::DeviceKernel(Context& context, const spirv::Module& module, const spirv::Kernel& kernel,
                           VkPipelineCache cache, const KernelInfo* translated)
    : context_(context),
      cache_(cache),
      any_group_(kernel.any_group),
      groups_visible_(kernel.groups_visible),
      group_(kernel.group),
      group_memory_(kernel.group_memory) {
  check_limits(module, kernel);
  const uint32_t push_limit = std::min(context.physical().properties.limits.maxPushConstantsSize, kMaxPushBytes);
  patched_ = spirv::patch(module, kernel, push_limit);
  std::vector<uint32_t> words = std::exchange(patched_.words, {});
  if (context.physical().folds_zeros) words = spirv::hide_zeros(spirv::Module(std::move(words)));
  push_bytes_ = kernel.push_bytes;
  if (patched_.tail_words != 0)
    push_bytes_ = patched_.tail_offset + patched_.tail_words * static_cast<uint32_t>(sizeof(uint32_t));
  push_bytes_ = (push_bytes_ + 3) / 4 * 4;
  if (translated == nullptr) {
    make_slots(kernel);
  } else {
    const std::vector<spirv::PushMember> block = spirv::block_members(module, kernel);
    for (const spirv::PushMember& member : block)
      block_bytes_ = std::max(block_bytes_, member.offset + member.parameter.bytes);
    make_translated_slots(block.empty() ? kernel.members : block, *translated);
  }

  try {
    make_layout(kernel);
    auto create = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    create.codeSize = words.size() * sizeof(uint32_t);
    create.pCode = words.data();
    context_.check(context_.api().vkCreateShaderModule(context_.device(), &create, nullptr, &module_),
                   "vkCreateShaderModule");
  } catch (...) {
    destroy();
    throw;
  }
}

DeviceKernel::~DeviceKernel() { destroy(); }

void DeviceKernel::destroy() {
  const DeviceApi& api = context_.api();
  const VkDevice device = context_.device();
  for (const auto& [key, pipeline] : pipelines_) api.vkDestroyPipeline(device, pipeline, nullptr);
  api.vkDestroyShaderModule(device, module_, nullptr);
  api.vkDestroyPipelineLayout(device, layout_, nullptr);
  api.vkDestroyDescriptorSetLayout(device, set_layout_, nullptr);
}

void DeviceKernel::make_slots(const spirv::Kernel& kernel) {
  for (uint32_t i = 0; i < kernel.bindings.size(); ++i) slots_.push_back({Slot::Kind::Descriptor, i, 0});
  for (const spirv::PushMember& member : kernel.members)
    slots_.push_back({Slot::Kind::Pushed, member.offset, member.parameter.bytes});
}

// Each parameter is one push constant, or member of the block, except shared arrays: their lengths are specialization
// constants. `needed`: the bytes that a launch writes even if the member is smaller.
void DeviceKernel::make_translated_slots(std::span<const spirv::PushMember> members, const KernelInfo& translated) {
  size_t member = 0;
  const auto next = [&](size_t needed) -> const spirv::PushMember& {
    if (member == members.size())
      refuse_kernel(
          base::format("the kernel {} has only {} push constants for its parameters", translated.name, member));
    if (members[member].parameter.bytes < needed)
      refuse_kernel(base::format("push constant {} of the kernel {} has {} bytes, not {}", member + 1, translated.name,
                                 members[member].parameter.bytes, needed));
    return members[member++];
  };
  for (const Parameter& parameter : translated.parameters) {
    if (parameter.kind == ParameterKind::Local) {
      slots_.push_back({Slot::Kind::Shared, shared_arrays_++, std::max(parameter.bytes, 1u)});
      continue;
    }
    const spirv::PushMember& pushed = next(sizeof(Address));
    slots_.push_back({Slot::Kind::Pushed, pushed.offset, pushed.parameter.bytes});
  }
  if (translated.takes_grid) grid_offset_ = next(sizeof(Grid::threads) + sizeof(Grid::group)).offset;
  if (shared_arrays_ > kMaxShared)
    refuse_kernel(base::format("the kernel {} takes {} blocks of group memory; on Vulkan the max is {}",
                               translated.name, shared_arrays_, kMaxShared));
}

void DeviceKernel::check_limits(const spirv::Module& module, const spirv::Kernel& kernel) const {
  const PhysicalDevice& physical = context_.physical();
  const VkPhysicalDeviceLimits& limits = physical.properties.limits;
  const uint32_t newest = physical.version >= VK_API_VERSION_1_3 ? 0x00010600 : 0x00010500;
  if (module.version() > newest)
    refuse_kernel(base::format("SPIR-V 1.{} is not supported on {}: its max is 1.{}", module.version() >> 8 & 0xFF,
                               physical.properties.deviceName, newest >> 8 & 0xFF));
  for (const uint32_t capability : module.capabilities())
    if (const char* missing = missing_capability(physical, capability))
      refuse_kernel(base::format("{} has no {}, which the kernel {} needs", physical.properties.deviceName, missing,
                                 kernel.name));
  const uint32_t push_limit = std::min(limits.maxPushConstantsSize, kMaxPushBytes);
  if (kernel.push_bytes > push_limit)
    refuse_kernel(
        base::format("the kernel {} has {} bytes of push constants; the max on {} is {}: put some into a buffer",
                     kernel.name, kernel.push_bytes, physical.properties.deviceName, push_limit));
  const uint32_t max_bindings = std::min(physical.max_push_descriptors, kMaxBindings);
  if (kernel.bindings.size() > max_bindings)
    refuse_kernel(base::format("the kernel {} has {} bindings; the max on {} is {}: use buffer references", kernel.name,
                               kernel.bindings.size(), physical.properties.deviceName, max_bindings));
  if (kernel.group_memory > limits.maxComputeSharedMemorySize)
    refuse_kernel(base::format("the kernel {} has {} bytes of shared memory; the max on {} is {}", kernel.name,
                               kernel.group_memory, physical.properties.deviceName, limits.maxComputeSharedMemorySize));
  const Extent& group = kernel.group;
  if (group.volume() > limits.maxComputeWorkGroupInvocations || group.x > limits.maxComputeWorkGroupSize[0] ||
      group.y > limits.maxComputeWorkGroupSize[1] || group.z > limits.maxComputeWorkGroupSize[2])
    refuse_kernel(base::format("the kernel {} has groups of {} x {} x {} threads; the max on {} is {} threads in total",
                               kernel.name, group.x, group.y, group.z, physical.properties.deviceName,
                               limits.maxComputeWorkGroupInvocations));
}

void DeviceKernel::make_layout(const spirv::Kernel& kernel) {
  const DeviceApi& api = context_.api();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const spirv::Binding& binding : kernel.bindings) {
    const VkDescriptorType type =
        binding.uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    bindings.push_back({static_cast<uint32_t>(bindings.size()), type, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    bindings_.push_back(type);
  }
  auto layout = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  if (!bindings.empty()) {
    auto set = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    set.bindingCount = static_cast<uint32_t>(bindings.size());
    set.pBindings = bindings.data();
    context_.check(api.vkCreateDescriptorSetLayout(context_.device(), &set, nullptr, &set_layout_),
                   "vkCreateDescriptorSetLayout");
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
  }
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes_};
  if (push_bytes_ != 0) {
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &range;
  }
  context_.check(api.vkCreatePipelineLayout(context_.device(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

VkPipeline DeviceKernel::pipeline(const PipelineKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = pipelines_.find(key);
  return known != pipelines_.end() ? known->second : pipelines_.emplace(key, make_pipeline(key)).first->second;
}

VkPipeline DeviceKernel::make_pipeline(const PipelineKey& key) const {
  std::vector<uint32_t> values;
  std::vector<VkSpecializationMapEntry> entries;
  const auto specialise = [&](uint32_t constant, uint32_t value) {
    entries.push_back({constant, static_cast<uint32_t>(values.size() * sizeof(uint32_t)), sizeof(uint32_t)});
    values.push_back(value);
  };
  for (size_t axis = 0; axis < key.group.size(); ++axis) {
    specialise(patched_.size_constants[axis], key.group[axis]);
    if (patched_.own_size_constants[axis]) specialise(*patched_.own_size_constants[axis], key.group[axis]);
  }
  for (uint32_t i = 0; i < shared_arrays_; ++i) specialise(kFirstSharedConstant + i, key.shared[i]);

  VkSpecializationInfo special{};
  special.mapEntryCount = static_cast<uint32_t>(entries.size());
  special.pMapEntries = entries.data();
  special.dataSize = values.size() * sizeof(uint32_t);
  special.pData = values.data();
  auto create = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = module_;
  create.stage.pName = "main";
  create.stage.pSpecializationInfo = &special;
  create.layout = layout_;
  VkPipeline pipeline = VK_NULL_HANDLE;
  context_.check(context_.api().vkCreateComputePipelines(context_.device(), cache_, 1, &create, nullptr, &pipeline),
                 "vkCreateComputePipelines");
  return pipeline;
}

}  // namespace kymo::device::vulkan
