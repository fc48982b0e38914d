#include "device/library.h"

#include <algorithm>

#include "base/text.h"
#include "device/library_cache.h"
#include "device/names.h"
#include "kymo/shader.h"

namespace kymo::device {

LibraryState::LibraryState(DeviceState& device, std::unique_ptr<Program> program,
                           std::unique_ptr<const LibrarySource> source)
    : device_(device), program_(std::move(program)), source_(std::move(source)) {
  const auto kernels = program_->kernels();
  infos_.assign(kernels.begin(), kernels.end());
  for (uint32_t i = 0; i < infos_.size(); ++i) {
    const std::string& name = infos_[i].name;
    kernels_.push_back({this, i, keep_name(name), &keep_kernel_site(name), &infos_[i]});
  }
  std::sort(kernels_.begin(), kernels_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  device_.add_library(*this);
}

LibraryState::~LibraryState() {
  if (forked_with_devices.load(std::memory_order_relaxed)) {
    (void)program_.release();  // the driver did not survive the fork
    return;
  }
  if (launched_ && program_ != nullptr) {
    try {
      device_.synchronize();  // its kernels may still be queued
    } catch (const Error&) {
      // The device failed, so no kernel of it runs any more. The program gets this error from its own calls.
    }
  }
  device_.remove_library(*this);
}

KernelState* LibraryState::find(std::string_view name) {
  const auto found =
      std::lower_bound(kernels_.begin(), kernels_.end(), name,
                       [](const KernelState& kernel, std::string_view wanted) { return kernel.name < wanted; });
  return found != kernels_.end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> LibraryState::kernel_names() const {
  std::vector<std::string> names;
  for (const KernelState& kernel : kernels_) names.emplace_back(kernel.name);
  return names;
}

const Program& LibraryState::program() {
  if (program_ == nullptr) throw Error("this library was compiled before its device was reset: compile it again");
  if (!launched_.load(std::memory_order_relaxed)) launched_ = true;
  return *program_;
}

void LibraryState::drop_program() { program_.reset(); }

// ---- kymo/shader.h -------------------------------------------------------------------------------------------------

Kernel ShaderLibrary::operator[](std::string_view name) const {
  KernelState* kernel = state_->find(name);
  if (kernel == nullptr) {
    throw Error(base::format("there is no kernel \"{}\" in this library; it has: {}", name,
                             base::join(state_->kernel_names(), ", ")));
  }
  return Kernel(state_, *kernel);
}

std::vector<std::string> ShaderLibrary::kernel_names() const { return state_->kernel_names(); }
Device ShaderLibrary::device() const { return Device(state_->device()); }

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options) {
  return compile_shader(source, options, Device::current());
}

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options, Device device) {
  return ShaderLibrary(device.state().libraries().get(source, options));
}

}  // namespace kymo::device
