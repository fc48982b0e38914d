#include "device/vulkan/program.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

// True if a cache was made by this device and driver. Drivers should check this themselves, but not all do.
bool fits(const std::vector<std::byte>& cache, const VkPhysicalDeviceProperties& properties) {
  VkPipelineCacheHeaderVersionOne header;
  if (cache.size() < sizeof header) return false;
  std::memcpy(&header, cache.data(), sizeof header);
  return header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == properties.vendorID &&
         header.deviceID == properties.deviceID &&
         std::memcmp(header.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace

DeviceProgram::DeviceProgram(Context& context, ProgramCode code, std::span<const KernelInfo> translated)
    : context_(context), code_(std::move(code)) {
  auto create = structure<VkPipelineCacheCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  if (fits(code_.cache, context_.physical().properties)) {
    create.initialDataSize = code_.cache.size();
    create.pInitialData = code_.cache.data();
  }
  context_.check(context_.api().vkCreatePipelineCache(context_.device(), &create, nullptr, &cache_),
                 "vkCreatePipelineCache");
  code_.cache.clear();
  try {
    for (const ModuleCode& module : code_.modules) {
      if (translated.empty())
        add_kernels(module);
      else
        add_translated(module, translated);
    }
  } catch (...) {
    kernels_.clear();
    context_.api().vkDestroyPipelineCache(context_.device(), cache_, nullptr);
    throw;
  }
}

DeviceProgram::~DeviceProgram() {
  kernels_.clear();
  context_.api().vkDestroyPipelineCache(context_.device(), cache_, nullptr);
}

void DeviceProgram::add_kernels(const ModuleCode& code) {
  const spirv::Module module(code.words);
  for (spirv::Kernel& kernel : spirv::reflect(module, code_.modules.size() > 1)) {
    if (!code.name.empty()) kernel.name = code.name;
    kernels_.push_back(std::make_unique<DeviceKernel>(context_, module, kernel, cache_, nullptr));
    KernelInfo& info = infos_.emplace_back();
    info.name = kernel.name;
    for (spirv::Binding& binding : kernel.bindings) info.parameters.push_back(std::move(binding.parameter));
    for (spirv::PushMember& member : kernel.members) info.parameters.push_back(std::move(member.parameter));
    info.max_threads_per_group = context_.physical().properties.limits.maxComputeWorkGroupInvocations;
    info.execution_width = context_.physical().v11.subgroupSize;
    info.group_memory = kernel.group_memory;
    if (!kernel.any_group) info.required_group = kernel.group;
  }
}

// Each kernel has its own module.
void DeviceProgram::add_translated(const ModuleCode& code, std::span<const KernelInfo> translated) {
  const auto found = std::ranges::find(translated, code.name, &KernelInfo::symbol);
  const spirv::Module module(code.words);
  std::vector<spirv::Kernel> kernels = spirv::reflect(module);
  if (found == translated.end() || kernels.size() != 1) {
    const std::string text = "the module of kernel \"" + code.name + "\" has a different kernel";
    throw CompileError(text, code.name, 0, 0, text);
  }
  kernels[0].name = found->name;
  kernels_.push_back(std::make_unique<DeviceKernel>(context_, module, kernels[0], cache_, &*found));
  KernelInfo& info = infos_.emplace_back(*found);
  const uint64_t max = context_.physical().properties.limits.maxComputeWorkGroupInvocations;
  info.max_threads_per_group = std::min(info.max_threads_per_group, max);
}

std::vector<std::byte> DeviceProgram::binary() const {
  ProgramCode code{code_.modules, {}};
  size_t bytes = 0;
  context_.check(context_.api().vkGetPipelineCacheData(context_.device(), cache_, &bytes, nullptr),
                 "vkGetPipelineCacheData");
  code.cache.resize(bytes);
  // The cache may grow between the calls. Then the part that fits is used.
  context_.check(context_.api().vkGetPipelineCacheData(context_.device(), cache_, &bytes, code.cache.data()),
                 "vkGetPipelineCacheData");
  code.cache.resize(bytes);
  return code.encode();
}

// ---- The binary form -----------------------------------------------------------------------------------------------

std::vector<std::byte> ProgramCode::encode() const {
  base::ByteWriter writer;
  writer.varint(modules.size());
  for (const ModuleCode& module : modules) {
    writer.string(module.name);
    writer.varint(module.words.size());
    writer.append(std::as_bytes(std::span(module.words)));
  }
  writer.varint(cache.size());
  writer.append(cache);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<ProgramCode> ProgramCode::decode(std::span<const std::byte> bytes) {
  try {
    base::ByteReader reader(bytes);
    ProgramCode code;
    const size_t modules = reader.count();
    for (size_t i = 0; i < modules; ++i) {
      ModuleCode& module = code.modules.emplace_back();
      module.name = reader.string();
      module.words.resize(reader.count(sizeof(uint32_t)));
      const base::Bytes words = reader.take(module.words.size() * sizeof(uint32_t));
      std::memcpy(module.words.data(), words.data(), words.size());
    }
    const base::Bytes cache = reader.take(reader.count());
    code.cache.assign(cache.begin(), cache.end());
    return code;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace kymo::device::vulkan
