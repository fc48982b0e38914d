// The driver and its devices for the runtime: load_vulkan().

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "device/vulkan/context.h"
#include "device/vulkan/glsl.h"
#include "device/vulkan/program.h"
#include "device/vulkan/spirv_exact.h"
#include "device/vulkan/stream_queue.h"
#include "kymo/error.h"

namespace kymo::device {
namespace vulkan {
namespace {

constexpr size_t kAlignment = 512;  // of device memory

// The GLSL compiler, or the reason why there is none.
struct Glsl {
  std::shared_ptr<const GlslCompiler> compiler;
  std::string missing;
};

Glsl find_glsl() {
  try {
    return {std::make_shared<GlslCompiler>(), ""};
  } catch (const NotAvailable& error) {
    return {nullptr, error.what()};
  }
}

DeviceInfo describe_with(const PhysicalDevice& physical, const Glsl& glsl) {
  DeviceInfo info = describe(physical);
  if (glsl.compiler != nullptr) info.languages.push_back(Language::Glsl);
  info.languages.push_back(Language::SpirV);
  return info;
}

spirv::FloatWidths special_widths(const PhysicalDevice& physical) {
  spirv::FloatWidths widths;
  if (physical.v12.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE) widths.push_back(16);
  if (physical.v12.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE) widths.push_back(32);
  if (physical.v12.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE) widths.push_back(64);
  return widths;
}

// Reads one moment on the device's clock and on the host's. Thread-safe. With VK_EXT_calibrated_timestamps the driver
// reads both clocks, in about a microsecond. Without it, a timestamp is submitted between two readings of the host's
// clock, and the closest of several is taken.
class DeviceClock {
 public:
  // `markers`: the source of the queries of markers.
  DeviceClock(Context& context, QuerySlots& markers);
  base::ClockPair read();  // throws NotAvailable if the device has no timestamps

 private:
  base::ClockPair calibrated();
  base::ClockPair bracketed();

  Context& context_;
  QuerySlots& markers_;
  bool calibrated_ = false;
  std::mutex mutex_;
  std::unique_ptr<StreamQueue> queue_;  // for the second method
};

bool can_calibrate(const Context& context) {
  const auto& list = context.instance().api().vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
  if (!context.physical().calibrated_clock || list == nullptr || context.api().vkGetCalibratedTimestampsEXT == nullptr)
    return false;
  uint32_t count = 0;
  if (list(context.physical().handle, &count, nullptr) < 0) return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (list(context.physical().handle, &count, domains.data()) < 0) return false;
  const auto has = [&](VkTimeDomainEXT domain) { return std::ranges::find(domains, domain) != domains.end(); };
  return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

DeviceClock::DeviceClock(Context& context, QuerySlots& markers)
    : context_(context), markers_(markers), calibrated_(can_calibrate(context)) {}

base::ClockPair DeviceClock::read() {
  if (!context_.physical().timestamps) throw NotAvailable("vulkan: this device has no timestamps for compute");
  return calibrated_ ? calibrated() : bracketed();
}

base::ClockPair DeviceClock::calibrated() {
  std::array<VkCalibratedTimestampInfoEXT, 2> wanted;
  wanted.fill(structure<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT));
  wanted[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
  wanted[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
  std::array<uint64_t, 2> times{};
  uint64_t deviation = 0;
  context_.check(context_.api().vkGetCalibratedTimestampsEXT(context_.device(), wanted.size(), wanted.data(),
                                                             times.data(), &deviation),
                 "vkGetCalibratedTimestampsEXT");
  return {times[0], times[1], times[1] + base::realtime_offset().ns, deviation};
}

base::ClockPair DeviceClock::bracketed() {
  constexpr int kTries = 8;
  const std::lock_guard lock(mutex_);
  if (queue_ == nullptr) queue_ = std::make_unique<StreamQueue>(context_);
  TimelineMarker marker(context_, &markers_);
  std::optional<base::ClockPair> best;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = base::monotonic_ns();
    queue_->record(marker);
    marker.synchronize();
    const uint64_t after = base::monotonic_ns();
    const auto ticks = marker.time();
    const uint64_t error = (after - before + 1) / 2;
    if (!ticks || (best && error >= best->error_ns)) continue;
    best = base::ClockPair{*ticks, before + (after - before) / 2, 0, error};
  }
  if (!best) throw DeviceError("vulkan: the device wrote no timestamp");
  best->realtime_ns = best->monotonic_ns + base::realtime_offset().ns;
  return *best;
}

class VulkanAccelerator final : public Accelerator {
 public:
  VulkanAccelerator(std::shared_ptr<Instance> instance, const PhysicalDevice& physical, Glsl glsl)
      : instance_(std::move(instance)),
        physical_(physical),
        glsl_(std::move(glsl)),
        info_(describe_with(physical_, glsl_)) {
    start();
  }

  const DeviceInfo& info() const override { return info_; }

  Address allocate(size_t bytes) override {
    if (bytes == 0 || bytes > info_.max_allocation) return 0;
    Buffer buffer = context_->make_device_buffer(bytes);
    if (buffer.handle != VK_NULL_HANDLE && buffer.address % kAlignment != 0) {
      context_->destroy(buffer);
      buffer = context_->make_device_buffer(bytes + kAlignment);
    }
    if (buffer.handle == VK_NULL_HANDLE) return 0;
    const Address address = (buffer.address + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t offset = address - buffer.address;
    context_->device_memory().add({address, address + bytes, buffer.handle, offset, buffer.memory,
                                   buffer.mapped == nullptr ? nullptr : buffer.mapped + offset});
    return address;
  }

  void release(Address address, size_t) noexcept override { destroy(context_->device_memory().remove(address)); }

  std::optional<size_t> driver_allocated() const override {
    if (!physical_.memory_budget) return std::nullopt;
    auto budget = structure<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    auto memory = structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
    memory.pNext = &budget;
    instance_->api().vkGetPhysicalDeviceMemoryProperties2(physical_.handle, &memory);
    size_t bytes = 0;
    for (uint32_t i = 0; i < physical_.memory.memoryHeapCount; ++i)
      if ((physical_.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) bytes += budget.heapUsage[i];
    return bytes;
  }

  void* allocate_host(size_t bytes) override {
    const Buffer buffer = context_->make_host_buffer(bytes == 0 ? 1 : bytes);
    if (buffer.handle == VK_NULL_HANDLE) return nullptr;
    const auto begin = reinterpret_cast<uintptr_t>(buffer.mapped);
    context_->host_memory().add({begin, begin + buffer.bytes, buffer.handle, 0, buffer.memory, buffer.mapped});
    return buffer.mapped;
  }

  void release_host(void* memory) noexcept override {
    destroy(context_->host_memory().remove(reinterpret_cast<uintptr_t>(memory)));
  }

  void* host_address(Address address) noexcept override {
    const auto range = context_->device_memory().find(address);
    return !range || range->mapped == nullptr ? nullptr : range->mapped + (address - range->begin);
  }
  Address share_host(void* memory, size_t bytes) override { return shared_host_->share(memory, bytes); }
  void unshare_host(Address address) noexcept override { shared_host_->unshare(address); }

  std::unique_ptr<Queue> make_queue() override { return std::make_unique<StreamQueue>(*context_); }

  std::unique_ptr<Marker> make_marker(bool timing) override {
    return std::make_unique<TimelineMarker>(*context_, timing && physical_.timestamps ? markers_.get() : nullptr);
  }

  std::unique_ptr<Program> compile(const Source& source) override {
    ProgramCode code;
    if (source.language == Language::Glsl) {
      if (glsl_.compiler == nullptr) throw NotAvailable(glsl_.missing);
      code.modules = compile_glsl(*glsl_.compiler, source);
      for (ModuleCode& module : code.modules)
        module.words = spirv::with_special_numbers(spirv::Module(std::move(module.words)), special_widths(physical_));
    } else if (source.language == Language::SpirV) {
      if (!source.options.empty())
        throw InvalidArgument(
            base::format("SPIR-V is already compiled, so the option {} has no effect: remove it", source.options[0]));
      code.modules.push_back({"", spirv::Module::words_of(source.text)});
    } else {
      throw InvalidArgument("vulkan: unsupported language: write the kernel in GLSL or SPIR-V");
    }
    return std::make_unique<DeviceProgram>(*context_, std::move(code), source.kernels);
  }

  std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) override {
    auto code = ProgramCode::decode(binary);
    if (!code) return nullptr;
    try {
      const bool translated = !kernels.empty() && kernels.front().is_translated;
      auto program = std::make_unique<DeviceProgram>(*context_, std::move(*code),
                                                     translated ? kernels : std::vector<KernelInfo>());
      return program->kernels().size() == kernels.size() ? std::move(program) : nullptr;
    } catch (const CompileError&) {
      return nullptr;
    }
  }

  base::ClockPair read_clock() override { return clock_->read(); }

  void reset() override {
    clock_.reset();
    markers_.reset();
    shared_host_.reset();
    context_.reset();
    start();
  }

 private:
  void start() {
    context_ = std::make_unique<Context>(instance_, physical_);
    shared_host_ = std::make_unique<SharedHost>(*context_);
    markers_ = std::make_unique<QuerySlots>(*context_, 1);
    clock_ = std::make_unique<DeviceClock>(*context_, *markers_);
  }

  void destroy(const std::optional<AddressRange>& range) noexcept {
    if (range) context_->destroy(*range);
  }

  const std::shared_ptr<Instance> instance_;
  const PhysicalDevice physical_;
  const Glsl glsl_;
  const DeviceInfo info_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<SharedHost> shared_host_;
  std::unique_ptr<QuerySlots> markers_;
  std::unique_ptr<DeviceClock> clock_;
};

class VulkanDriver final : public Driver {
 public:
  VulkanDriver() : instance_(std::make_shared<Instance>()), devices_(usable_devices(*instance_)), glsl_(find_glsl()) {}

  std::string_view name() const override { return "vulkan"; }
  int device_count() const override { return static_cast<int>(devices_.size()); }
  DeviceInfo describe(int index) override { return describe_with(device(index), glsl_); }
  std::unique_ptr<Accelerator> open(int index) override {
    return std::make_unique<VulkanAccelerator>(instance_, device(index), glsl_);
  }

 private:
  const PhysicalDevice& device(int index) const { return devices_.at(static_cast<size_t>(index)); }

  const std::shared_ptr<Instance> instance_;
  const std::vector<PhysicalDevice> devices_;
  const Glsl glsl_;
};

}  // namespace
}  // namespace vulkan

std::unique_ptr<Driver> load_vulkan() { return std::make_unique<vulkan::VulkanDriver>(); }

}  // namespace kymo::device
