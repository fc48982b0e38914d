#include "device/library.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"
#include "device/library_cache.h"
#include "device/names.h"
#include "kymo/shader.h"
#include "kymo/translate.h"

namespace kymo::device {

LibraryState::LibraryState(DeviceState& device, std::unique_ptr<Program> program,
                           std::unique_ptr<const LibrarySource> source, std::string warnings)
    : device_(device),
      is_list_(program->is_list() && source != nullptr),
      program_(std::move(program)),
      source_(std::move(source)),
      warnings_(std::move(warnings)) {
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
  if (found == kernels_.end() || found->name != name) return nullptr;
  if (!is_list_) return &*found;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LibraryState>& one = one_by_one_[found->name];
  if (one == nullptr) {
    program();  // throws if the device was reset
    one = device_.libraries().get(source_->text, source_->options, LibraryCache::Owner::User, name);
  }
  return one->find(name);
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
const std::string& ShaderLibrary::warnings() const { return state_->warnings(); }
Device ShaderLibrary::device() const { return Device(state_->device()); }

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options) {
  return compile_shader(source, options, Device::current());
}

ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options, Device device) {
  return ShaderLibrary(device.state().libraries().get(source, options));
}

ShaderLibrary load_metallib(const std::string& path) { return load_metallib(path, Device::current()); }

ShaderLibrary load_metallib(const std::string& path, Device device) {
  constexpr uint64_t kLongest = uint64_t{256} << 20;
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw base::file_error("read", path, errno);
  const uint64_t size = base::size_of(file, path);
  if (size > kLongest) throw Error(base::format("{} is too large for a library of kernels", path));
  std::vector<std::byte> bytes(size);
  bytes.resize(base::read_at(file, path, 0, bytes));
  try {
    return load_metallib(bytes, device);
  } catch (const CompileError&) {
    throw;
  } catch (const Error& error) {
    throw Error(base::format("cannot load {}: {}", path, error.what()));
  }
}

ShaderLibrary load_metallib(std::span<const std::byte> contents) { return load_metallib(contents, Device::current()); }

ShaderLibrary load_metallib(std::span<const std::byte> contents, Device device) {
  const std::string_view bytes(reinterpret_cast<const char*>(contents.data()), contents.size());
  if (!shader::is_library(bytes)) shader::decode_library(bytes);  // throws what is wrong
  CompileOptions options;
  options.file = "library";
  return ShaderLibrary(device.state().libraries().get(bytes, options));
}

}  // namespace kymo::device
