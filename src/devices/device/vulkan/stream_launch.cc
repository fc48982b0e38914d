// Launches: converts arguments to push constants, a block in memory or descriptors, and a grid to dispatches.

#include <array>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "device/vulkan/grid.h"
#include "device/vulkan/program.h"
#include "device/vulkan/stream_queue.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

std::string_view kernel_name(const Launch& launch) { return launch.program->kernels()[launch.kernel].name; }

void check_grid(const Launch& launch) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  const Extent& threads = launch.threads;
  if (threads.x <= kMax && threads.y <= kMax && threads.z <= kMax) [[likely]]
    return;
  throw InvalidArgument(base::format("{}: {} x {} x {} threads are too many: the max on Vulkan is {} in each dimension",
                                     kernel_name(launch), threads.x, threads.y, threads.z, kMax));
}

}  // namespace

struct StreamQueue::Descriptors {
  static constexpr size_t kUsual = 32;
  explicit Descriptors(size_t count)
      : many(count > kUsual ? count : 0), data(count > kUsual ? many.data() : few.data()) {}

  std::array<VkDescriptorBufferInfo, kUsual> few;
  std::vector<VkDescriptorBufferInfo> many;  // used if there are more than usual
  VkDescriptorBufferInfo* data;
};

VkDescriptorBufferInfo StreamQueue::describe(const DeviceKernel& kernel, const Launch& launch, uint32_t parameter,
                                             uint32_t binding) {
  const Argument& argument = launch.arguments[parameter];
  if (argument.address == 0) return {nothing_.handle, 0, nothing_.handle == VK_NULL_HANDLE ? VK_WHOLE_SIZE : 4};
  const AddressRange* range = device_cache_.find(argument.address);
  if (range == nullptr)
    throw DeviceError(base::format("vulkan: {}: argument {} is at {:#x}, which is not memory of this device",
                                   kernel_name(launch), parameter, argument.address));
  const VkPhysicalDeviceLimits& limits = context_.physical().properties.limits;
  const bool uniform = kernel.bindings()[binding] == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  const uint64_t alignment = uniform ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
  const uint64_t longest = uniform ? limits.maxUniformBufferRange : limits.maxStorageBufferRange;
  const uint64_t offset = range->offset_of(argument.address);
  const uint64_t left = range->end - argument.address;
  const uint64_t bytes = argument.extent == 0 ? left : std::min<uint64_t>(argument.extent, left);
  if ((offset & (alignment - 1)) != 0)
    throw InvalidArgument(
        base::format("{}: argument {} starts at byte {} of its memory, but on this device a binding must start at a "
                     "multiple of {}: pass "
                     "a contiguous copy, or use a buffer_reference in the kernel",
                     kernel_name(launch), parameter, offset, alignment));
  if (bytes > longest)
    throw InvalidArgument(
        base::format("{}: argument {} has {} bytes, but the max of a binding on this device is {}: use a "
                     "buffer_reference in the kernel",
                     kernel_name(launch), parameter, bytes, longest));
  return {range->buffer, offset, bytes};
}

void StreamQueue::gather(const DeviceKernel& kernel, const Launch& launch, std::byte* values, Descriptors& descriptors,
                         PipelineKey& key) {
  using Kind = DeviceKernel::Slot::Kind;
  const auto slots = kernel.slots();
  uint64_t shared_bytes = 0;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    const DeviceKernel::Slot& slot = slots[i];
    const Argument& argument = launch.arguments[i];
    if (slot.kind == Kind::Descriptor) {
      descriptors.data[slot.place] = describe(kernel, launch, i, slot.place);
    } else if (slot.kind == Kind::Shared) {
      key.shared[slot.place] = static_cast<uint32_t>((uint64_t{argument.bytes} + slot.bytes - 1) / slot.bytes);
      shared_bytes += argument.bytes;
    } else if (argument.data == nullptr) {
      std::memcpy(values + slot.place, &argument.address, sizeof argument.address);
    } else {
      std::memcpy(values + slot.place, argument.data, std::min(argument.bytes, slot.bytes));
    }
  }
  if (const auto offset = kernel.grid_offset()) {
    const Grid grid = grid_of(launch);
    std::memcpy(values + *offset, &grid, sizeof grid.threads + sizeof grid.group);
  }
  const uint64_t max = context_.physical().properties.limits.maxComputeSharedMemorySize;
  if (shared_bytes != 0 && shared_bytes + kernel.group_memory() > max) {
    throw InvalidArgument(
        base::format("{}: {} bytes of group memory, plus {} that the kernel declares itself; this device has only {}",
                     kernel_name(launch), shared_bytes, kernel.group_memory(), max));
  }
}

void StreamQueue::bind(const DeviceKernel& kernel, const Descriptors& descriptors) {
  const DeviceApi& api = context_.api();
  const auto bindings = kernel.bindings();
  std::array<VkWriteDescriptorSet, Descriptors::kUsual> few;
  std::vector<VkWriteDescriptorSet> many(bindings.size() > few.size() ? bindings.size() : 0);
  VkWriteDescriptorSet* writes = many.empty() ? few.data() : many.data();
  const VkDescriptorSet set =
      kernel.pushes_descriptors() ? VK_NULL_HANDLE : open_->sets.make(kernel.set_layout(), bindings.size());
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    writes[i] = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = bindings[i];
    writes[i].pBufferInfo = &descriptors.data[i];
  }
  const auto count = static_cast<uint32_t>(bindings.size());
  if (kernel.pushes_descriptors()) {
    api.vkCmdPushDescriptorSetKHR(open_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, count, writes);
    return;
  }
  api.vkUpdateDescriptorSets(context_.device(), count, writes, 0, nullptr);
  api.vkCmdBindDescriptorSets(open_->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, 1, &set, 0, nullptr);
}

void StreamQueue::launch(const Launch& launch, Ticket* ticket) {
  enter();
  check_grid(launch);
  const DeviceKernel& kernel = static_cast<const DeviceProgram*>(launch.program)->kernel(launch.kernel);
  std::array<std::byte, kMaxPushBytes> constants;
  std::memset(constants.data(), 0, kernel.push_bytes());
  Descriptors descriptors(kernel.bindings().size());
  PipelineKey key;
  block_.assign(kernel.block_bytes(), std::byte{});
  gather(kernel, launch, block_.empty() ? constants.data() : block_.data(), descriptors, key);

  const Extent& group = kernel.any_group() ? launch.group : kernel.group();
  const uint32_t* limits = context_.physical().properties.limits.maxComputeWorkGroupCount;
  const bool visible = kernel.groups_visible();
  const Axis x(launch.threads.x, group.x, limits[0], visible), y(launch.threads.y, group.y, limits[1], visible),
      z(launch.threads.z, group.z, limits[2], visible);

  if (!block_.empty()) {
    // In use until the submission that begin() opens, or continues, is done.
    const Staging::Space space = stage(block_.size(), argument_staging_);
    std::memcpy(space.host, block_.data(), block_.size());
    std::memcpy(constants.data(), &space.address, sizeof space.address);
  }
  begin(ticket);
  const DeviceApi& api = context_.api();
  const VkCommandBuffer commands = open_->commands;
  if (!kernel.bindings().empty()) bind(kernel, descriptors);
  const spirv::Patched& patched = kernel.patched();
  const bool pushed = patched.place == spirv::Place::Pushed;
  VkPipeline bound = VK_NULL_HANDLE;
  bool first = true;
  for_each_dispatch(x, y, z, [&](const AxisPiece& px, const AxisPiece& py, const AxisPiece& pz) {
    std::array<uint32_t, kMaxTailWords> tail{};
    uint32_t* next = tail.data();
    const auto append = [&](bool asked, uint32_t a, uint32_t b, uint32_t c) {
      if (!asked) return;
      *next++ = a;
      *next++ = b;
      *next++ = c;
    };
    append(patched.offset, px.offset, py.offset, pz.offset);
    append(patched.base, px.base, py.base, pz.base);
    append(patched.groups, x.groups(), y.groups(), z.groups());

    key.group = {px.size, py.size, pz.size};
    if (!pushed) key.tail = tail;
    if (const VkPipeline pipeline = kernel.pipeline(key); pipeline != bound) {
      api.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      bound = pipeline;
    }
    const uint32_t tail_bytes = pushed ? patched.tail_words * static_cast<uint32_t>(sizeof(uint32_t)) : 0;
    if (tail_bytes != 0) std::memcpy(constants.data() + patched.tail_offset, tail.data(), tail_bytes);
    if (first && kernel.push_bytes() != 0)
      api.vkCmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, kernel.push_bytes(),
                             constants.data());
    else if (tail_bytes != 0)
      api.vkCmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, patched.tail_offset, tail_bytes,
                             tail.data());
    first = false;
    api.vkCmdDispatch(commands, px.count, py.count, pz.count);
  });
  end(ticket);
}

}  // namespace kymo::device::vulkan
