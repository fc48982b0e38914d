// One kernel on one device: its layout, its shader module, and its pipelines, one for each group size that was used.
//
// Thread-safe. Creating a pipeline calls the driver's compiler and takes milliseconds.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "device/vulkan/context.h"
#include "device/vulkan/spirv_patch.h"

namespace kymo::device::vulkan {

inline constexpr uint32_t kMaxTailWords = 9;
inline constexpr uint32_t kMaxPushBytes = 256;  // Kymo uses at most this much, even if a device has more
inline constexpr uint32_t kMaxBindings = 32;    // likewise

inline constexpr uint32_t kMaxShared = 8;
inline constexpr uint32_t kFirstSharedConstant = 3;

// What a pipeline was created for: the group, and the lengths of the shared arrays that the caller sizes.
struct PipelineKey {
  std::array<uint32_t, 3> group{};
  std::array<uint32_t, kMaxShared> shared{};
  auto operator<=>(const PipelineKey&) const = default;
};

class DeviceKernel {
 public:
  // Where an argument is stored.
  struct Slot {
    enum class Kind : uint8_t { Pushed, Descriptor, Shared } kind = Kind::Pushed;
    uint32_t place = 0;  // the offset in the push constants or the block, the binding, the index of the shared array
    uint32_t bytes = 0;  // of a push constant, or of an element of a shared array
  };

  // `translated`: the translator's description, or null. Throws CompileError if the device cannot run the kernel.
  DeviceKernel(Context& context, const spirv::Module& module, const spirv::Kernel& kernel, VkPipelineCache cache,
               const KernelInfo* translated);
  ~DeviceKernel();
  DeviceKernel(const DeviceKernel&) = delete;
  DeviceKernel& operator=(const DeviceKernel&) = delete;

  std::span<const Slot> slots() const { return slots_; }  // one per parameter
  std::span<const VkDescriptorType> bindings() const { return bindings_; }
  VkPipelineLayout layout() const { return layout_; }
  uint32_t push_bytes() const { return push_bytes_; }  // including the tail
  // 0: arguments are push constants. Otherwise they are in a block of this size, and the push constant at offset 0 is
  // its address.
  uint32_t block_bytes() const { return block_bytes_; }
  // The offset of the grid description in the push constants or the block.
  std::optional<uint32_t> grid_offset() const { return grid_offset_; }
  uint64_t group_memory() const { return group_memory_; }
  const spirv::Patched& patched() const { return patched_; }  // without its words
  bool any_group() const { return any_group_; }
  const Extent& group() const { return group_; }
  bool groups_visible() const { return groups_visible_; }

  VkPipeline pipeline(const PipelineKey& key) const;

 private:
  void check_limits(const spirv::Module& module, const spirv::Kernel& kernel) const;
  void make_slots(const spirv::Kernel& kernel);
  void make_translated_slots(std::span<const spirv::PushMember> members, const KernelInfo& translated);
  void make_layout(const spirv::Kernel& kernel);
  VkPipeline make_pipeline(const PipelineKey& key) const;
  void destroy();

  Context& context_;
  const VkPipelineCache cache_;
  spirv::Patched patched_;
  std::vector<Slot> slots_;
  std::vector<VkDescriptorType> bindings_;
  bool any_group_ = false, groups_visible_ = false;
  Extent group_;
  uint32_t push_bytes_ = 0, block_bytes_ = 0;
  std::optional<uint32_t> grid_offset_;
  uint32_t shared_arrays_ = 0;  // that the caller sizes
  uint64_t group_memory_ = 0;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkShaderModule module_ = VK_NULL_HANDLE;
  mutable std::mutex mutex_;
  mutable std::map<PipelineKey, VkPipeline> pipelines_;
};

}  // namespace kymo::device::vulkan
