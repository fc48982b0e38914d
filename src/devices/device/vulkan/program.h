// Compiled kernels: SPIR-V modules, and the driver's code for them.
//
// The binary form contains the original modules and the driver's pipeline cache. One process makes it, and another can
// use it on any device that can run the modules. A binary that this device does not accept any more is rejected, not
// repaired. CodeStore checks that it is not damaged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/vulkan/kernel.h"

namespace kymo::device::vulkan {

struct ModuleCode {
  std::string name;  // name of its kernel, if it differs from the entry point's name; else empty
  std::vector<uint32_t> words;
};

struct ProgramCode {
  std::vector<ModuleCode> modules;
  std::vector<std::byte> cache;  // the driver's; may be empty

  std::vector<std::byte> encode() const;
  static std::optional<ProgramCode> decode(std::span<const std::byte> bytes);  // empty: not such a binary
};

class DeviceProgram final : public Program {
 public:
  // `translated`: the translator's description of the kernels; empty: found by reflection. Throws CompileError if a
  // module is not SPIR-V or cannot run here.
  DeviceProgram(Context& context, ProgramCode code, std::span<const KernelInfo> translated);
  ~DeviceProgram() override;

  std::span<const KernelInfo> kernels() const override { return infos_; }
  std::vector<std::byte> binary() const override;
  const DeviceKernel& kernel(uint32_t index) const { return *kernels_[index]; }

 private:
  void add_kernels(const ModuleCode& code);
  void add_translated(const ModuleCode& code, std::span<const KernelInfo> translated);

  Context& context_;
  ProgramCode code_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<KernelInfo> infos_;
  std::vector<std::unique_ptr<DeviceKernel>> kernels_;
};

}  // namespace kymo::device::vulkan
