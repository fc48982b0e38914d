// Compiled kernels: SPIR-V modules, and what the driver made of them.
//
// Its binary form is the modules as they came and the driver's pipeline cache, with a hash over both: made by one
// process, it is taken by another on any device that can run the modules. What is damaged, of another version of Kymo,
// or not accepted by this device any more, is refused, not repaired.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/vulkan/kernel.h"

namespace kymo::device::vulkan {

struct ModuleCode {
  std::string name;  // of its kernel, where it has one and the entry point's name is not it; else empty
  std::vector<uint32_t> words;
};

struct ProgramCode {
  std::vector<ModuleCode> modules;
  std::vector<std::byte> cache;  // the driver's; may be empty

  std::vector<std::byte> encode() const;
  static std::optional<ProgramCode> decode(std::span<const std::byte> bytes);  // nothing: it is not one
};

class DeviceProgram final : public Program {
 public:
  // `translated`: what a translator says of the kernels; empty: found by reflection. Throws CompileError where a module
  // is not SPIR-V or cannot run here.
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
