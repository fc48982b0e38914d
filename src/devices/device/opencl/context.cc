#include "device/opencl/context.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/environment.h"
#include "base/host.h"
#include "base/text.h"
#include "device/language.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

constexpr size_t kAlignmentSlack = 512;  // the number of bytes that are added to align a block (see context.h)

template <class T>
T ask(const Api& cl, cl_device_id device, cl_device_info what, T otherwise = {}) {
  T value{};
  return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

std::string ask_text(const Api& cl, cl_device_id device, cl_device_info what) {
  return trimmed(text_from([&](auto... to) { return cl.clGetDeviceInfo(device, what, to...); }));
}

std::string ask_text(const Api& cl, cl_platform_id platform, cl_platform_info what) {
  return trimmed(text_from([&](auto... to) { return cl.clGetPlatformInfo(platform, what, to...); }));
}

std::string newest_language(const Api& cl, cl_device_id device) {
  size_t size = 0;
  if (cl.clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, 0, nullptr, &size) == CL_SUCCESS && size > 0) {
    std::vector<cl_name_version> versions(size / sizeof(cl_name_version));
    if (cl.clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, size, versions.data(), nullptr) == CL_SUCCESS) {
      cl_version newest = 0;
      for (const cl_name_version& version : versions) newest = std::max(newest, version.version);
      if (newest != 0) return base::format("CL{}.{}", CL_VERSION_MAJOR(newest), CL_VERSION_MINOR(newest));
    }
  }
  return language_option(ask_text(cl, device, CL_DEVICE_OPENCL_C_VERSION));
}

bool rounds_divisions(const Api& cl, cl_device_id device) {
  return (ask<cl_device_fp_config>(cl, device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
}

bool compiles_at_launch(cl_device_type type, const std::string& version) {
  return (type & CL_DEVICE_TYPE_CPU) != 0 && version.find("PoCL") != std::string::npos;
}

bool waits_for_other_code(const Api& cl, cl_device_id device, const std::string& version) {
  return version.find("PoCL") != std::string::npos && std::atoi(ask_text(cl, device, CL_DRIVER_VERSION).c_str()) < 6;
}

bool makes_ptx(const Api& cl, cl_device_id device) {
  return has_word(ask_text(cl, device, CL_DEVICE_EXTENSIONS), "cl_nv_compiler_options");
}

// A 2.x device always supports them; a 3.0 device reports it.
bool non_uniform_groups(const Api& cl, cl_device_id device, const std::string& version) {
  if (version.starts_with("OpenCL 2.")) return true;
  return ask<cl_bool>(cl, device, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, CL_FALSE) == CL_TRUE;
}

uint32_t execution_width(const Api& cl, cl_device_id device, const std::string& extensions) {
  if (has_word(extensions, "cl_nv_device_attribute_query"))
    if (const cl_uint width = ask<cl_uint>(cl, device, CL_DEVICE_WARP_SIZE_NV)) return width;
  if (has_word(extensions, "cl_amd_device_attribute_query"))
    if (const cl_uint width = ask<cl_uint>(cl, device, CL_DEVICE_WAVEFRONT_WIDTH_AMD)) return width;
  return static_cast<uint32_t>(
      std::max<size_t>(1, ask<size_t>(cl, device, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 1)));
}

// The driver's UUID, or one that is the same in every process that sees the same devices in the same order.
std::string uuid(const Api& cl, cl_platform_id platform, cl_device_id device, const std::string& extensions,
                 const DeviceInfo& info, int index_in_platform) {
  cl_uchar bytes[CL_UUID_SIZE_KHR];
  if (has_word(extensions, "cl_khr_device_uuid") &&
      cl.clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof bytes, bytes, nullptr) == CL_SUCCESS)
    return base::hex(bytes);
  return base::opencl_device_uuid(ask_text(cl, platform, CL_PLATFORM_NAME), ask_text(cl, device, CL_DEVICE_VENDOR),
                                  info.name, index_in_platform);
}

bool fine_grained(const Api& cl, cl_device_id device) {
  const auto memory = ask<cl_device_svm_capabilities>(cl, device, CL_DEVICE_SVM_CAPABILITIES);
  return (memory & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0 &&
         ask<cl_bool>(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE) == CL_TRUE;
}

// The reason why Kymo cannot use this device; empty: it can.
std::optional<std::string> obstacle(const Api& cl, cl_device_id device) {
  if (ask<cl_bool>(cl, device, CL_DEVICE_AVAILABLE, CL_FALSE) != CL_TRUE)
    return "the driver reports it as not available";
  if (ask<cl_bool>(cl, device, CL_DEVICE_COMPILER_AVAILABLE, CL_FALSE) != CL_TRUE) return "it has no compiler";
  const auto memory = ask<cl_device_svm_capabilities>(cl, device, CL_DEVICE_SVM_CAPABILITIES);
  if ((memory & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return "it has no shared virtual memory";
  return std::nullopt;
}

DeviceInfo describe(const Api& cl, cl_platform_id platform, cl_device_id device, int index_in_platform) {
  const std::string extensions = ask_text(cl, device, CL_DEVICE_EXTENSIONS);
  const std::string version = ask_text(cl, device, CL_DEVICE_VERSION);
  DeviceInfo info;
  info.name = ask_text(cl, device, CL_DEVICE_NAME);
  info.driver = base::format("{}, {}, {}", ask_text(cl, device, CL_DRIVER_VERSION), version,
                             ask_text(cl, platform, CL_PLATFORM_VERSION));
  info.uuid = uuid(cl, platform, device, extensions, info, index_in_platform);
  const bool is_cpu = (ask<cl_device_type>(cl, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  info.is_processor = is_cpu;
  info.unified_memory = fine_grained(cl, device);
  info.total_memory = ask<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.recommended_max = recommended_memory(info.total_memory, is_cpu);
  const size_t longest = ask<cl_ulong>(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.max_allocation = longest > kAlignmentSlack ? longest - kAlignmentSlack : longest;
  info.max_group_threads = ask<size_t>(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  std::vector<size_t> sizes(std::max<cl_uint>(3, ask<cl_uint>(cl, device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)), 1);
  cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes.size() * sizeof(size_t), sizes.data(), nullptr);
  info.max_group = {sizes[0], sizes[1], sizes[2]};
  info.execution_width = execution_width(cl, device, extensions);
  info.group_memory = ask<cl_ulong>(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.compute_units = ask<cl_uint>(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.languages = {Language::OpenClC};

  if (has_word(extensions, "cl_khr_fp16")) info.capabilities.emplace_back("fp16");
  if (has_word(extensions, "cl_khr_fp64")) info.capabilities.emplace_back("fp64");
  if (has_word(extensions, "cl_khr_int64_base_atomics")) info.capabilities.emplace_back("int64-atomics");
  if (has_word(extensions, "cl_khr_subgroups")) info.capabilities.emplace_back("subgroups");
  if (non_uniform_groups(cl, device, version)) info.capabilities.emplace_back("non-uniform-groups");
  if ((ask<cl_command_queue_properties>(cl, device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES) & CL_QUEUE_PROFILING_ENABLE) !=
      0)
    info.capabilities.emplace_back("timestamps");
  return info;
}

int rank(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return 0;
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? 2 : 1;
}

std::vector<cl_platform_id> platforms(const Api& cl) {
  constexpr const char* kRemedy =
      "install a driver (Debian: pocl-opencl-icd for the CPU, or the one of your GPU) and see `clinfo -l`";
  cl_uint count = 0;
  cl_int code = cl.clGetPlatformIDs(0, nullptr, &count);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0))
    throw NotAvailable(base::format("OpenCL is not available: no driver found; {}", kRemedy));
  std::vector<cl_platform_id> found(count);
  if (code == CL_SUCCESS) code = cl.clGetPlatformIDs(count, found.data(), nullptr);
  if (code != CL_SUCCESS)
    throw NotAvailable(base::format("OpenCL is not available: {}; {}", error_text(code, "clGetPlatformIDs"), kRemedy));
  return found;
}

}  // namespace

size_t recommended_memory(size_t total, bool is_cpu) { return total - total / (is_cpu ? 4 : 16); }

std::string language_option(const std::string& opencl_c_version) {
  constexpr std::string_view kPrefix = "OpenCL C ";
  if (!opencl_c_version.starts_with(kPrefix)) return {};
  const size_t end = opencl_c_version.find_first_not_of("0123456789.", kPrefix.size());
  const std::string number = opencl_c_version.substr(kPrefix.size(), end - kPrefix.size());
  // Compilers have no option CL1.0: it is their language without an option.
  return number.size() == 3 && number != "1.0" ? "CL" + number : std::string();
}

std::vector<FoundDevice> find_devices(const Api& cl) {
  struct Ranked {
    int rank;
    FoundDevice device;
  };
  std::vector<Ranked> found;
  std::string obstacles;
  for (cl_platform_id platform : platforms(cl)) {
    cl_uint count = 0;
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> ids(count);
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_uint i = 0; i < count; ++i) {
      if (const auto why = obstacle(cl, ids[i])) {
        obstacles +=
            base::format("{}{}: {}", obstacles.empty() ? "" : ", ", ask_text(cl, ids[i], CL_DEVICE_NAME), *why);
        continue;
      }
      const auto type = ask<cl_device_type>(cl, ids[i], CL_DEVICE_TYPE);
      const std::string version = ask_text(cl, ids[i], CL_DEVICE_VERSION);
      found.push_back({rank(type),
                       {platform, ids[i], (type & CL_DEVICE_TYPE_CPU) != 0, non_uniform_groups(cl, ids[i], version),
                        fine_grained(cl, ids[i]), rounds_divisions(cl, ids[i]), makes_ptx(cl, ids[i]),
                        compiles_at_launch(type, version), waits_for_other_code(cl, ids[i], version),
                        newest_language(cl, ids[i]), describe(cl, platform, ids[i], static_cast<int>(i))}});
    }
  }
  if (found.empty())
    throw NotAvailable(
        base::format("OpenCL is not available: its drivers have no device that Kymo can use{}{}{}; install a driver "
                     "for OpenCL 2.0 or later (Debian: pocl-opencl-icd for the CPU) and see `clinfo -l`",
                     obstacles.empty() ? "" : " (", obstacles, obstacles.empty() ? "" : ")"));
  std::stable_sort(found.begin(), found.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  std::vector<FoundDevice> devices;
  for (Ranked& one : found) devices.push_back(std::move(one.device));
  return devices;
}

namespace {

constexpr size_t kPage = 4096;

// Kymo's OpenCL layer may be in the process. What happens in this context is recorded here, so the layer must not.
void exclude_from_layer(const Api& cl, cl_platform_id platform, cl_context context) {
  if (base::environment("OPENCL_LAYERS") == nullptr || cl.clGetExtensionFunctionAddressForPlatform == nullptr) return;
  using Exclude = void(CL_API_CALL*)(cl_context);
  const auto exclude =
      reinterpret_cast<Exclude>(cl.clGetExtensionFunctionAddressForPlatform(platform, base::kExcludeContext));
  if (exclude != nullptr) exclude(context);
}

}  // namespace

Context::Context(std::shared_ptr<const Api> loaded, FoundDevice found)
    : api(std::move(loaded)), cl(*api), device(std::move(found)), host_memory(*this) {
  renew();
}

void Context::renew() {
  handle = {};  // release it first: a lost context may prevent a new one
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(device.platform), 0};
  handle = {cl.clCreateContext(properties, 1, &device.id, nullptr, nullptr, &code), cl.clReleaseContext};
  check(code, "clCreateContext");
  exclude_from_layer(cl, device.platform, handle.get());
}

CommandQueue Context::make_queue(bool profiling) const {
  cl_int code = CL_SUCCESS;
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  CommandQueue queue(
      cl.clCreateCommandQueueWithProperties(handle.get(), device.id, profiling ? properties : nullptr, &code),
      cl.clReleaseCommandQueue);
  check(code, "clCreateCommandQueueWithProperties");
  return queue;
}

Address Memory::allocate(size_t bytes) {
  const DeviceInfo& info = context_.device.info;
  if (bytes == 0 || bytes > info.max_allocation) return 0;
  const std::lock_guard lock(mutex_);
  if (bytes > info.total_memory - held_) return 0;
  const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (context_.device.fine_grained ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
  void* block = context_.cl.clSVMAlloc(context_.handle.get(), flags, bytes + kAlignment, 0);
  if (block == nullptr) return 0;
  const Address address = (reinterpret_cast<Address>(block) + kAlignment - 1) / kAlignment * kAlignment;
  blocks_.emplace(address, Block{block, bytes});
  held_ += bytes;
  return address;
}

void Memory::release(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  context_.releases.fetch_add(1, std::memory_order_release);
  context_.cl.clSVMFree(context_.handle.get(), found->second.driver);
  held_ -= found->second.bytes;
  blocks_.erase(found);
}

void Memory::forget() noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.clear();
  held_ = 0;
  context_.releases.fetch_add(1, std::memory_order_release);
}

HostMemory::~HostMemory() {
  for (auto& [address, block] : blocks_) dispose(reinterpret_cast<void*>(address), block);
}

void* HostMemory::allocate(size_t bytes) {
  if (bytes == 0) bytes = 1;
  Block block;
  void* memory = context_.device.is_cpu ? allocate_plain(bytes, block) : allocate_mapped(bytes, block);
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<uintptr_t>(memory), std::move(block));
  count_.store(blocks_.size(), std::memory_order_release);
  return memory;
}

void* HostMemory::allocate_plain(size_t bytes, Block& block) {
  block.bytes = (bytes + kPage - 1) / kPage * kPage;
  return std::aligned_alloc(kPage, block.bytes);
}

void* HostMemory::allocate_mapped(size_t bytes, Block& block) {
  const Api& cl = context_.cl;
  cl_int code = CL_SUCCESS;
  block.bytes = bytes;
  block.buffer = {
      cl.clCreateBuffer(context_.handle.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code),
      cl.clReleaseMemObject};
  if (code != CL_SUCCESS) return nullptr;
  const CommandQueue queue = context_.make_queue(false);
  void* memory = cl.clEnqueueMapBuffer(queue.get(), block.buffer.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                       0, nullptr, nullptr, &code);
  return code == CL_SUCCESS ? memory : nullptr;
}

void HostMemory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  Block block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == blocks_.end()) return;
    block = std::move(found->second);
    blocks_.erase(found);
    count_.store(blocks_.size(), std::memory_order_release);
  }
  dispose(memory, block);
}

void HostMemory::dispose(void* memory, Block& block) noexcept {
  if (!block.buffer) {
    std::free(memory);
    return;
  }
  try {
    const CommandQueue queue = context_.make_queue(false);
    context_.cl.clEnqueueUnmapMemObject(queue.get(), block.buffer.get(), memory, 0, nullptr, nullptr);
    context_.cl.clFinish(queue.get());
  } catch (...) {
    // A lost device cannot create a queue. Its buffer is lost too.
  }
  block.buffer = {};
}

bool HostMemory::covers(const void* from, size_t bytes) const {
  if (count_.load(std::memory_order_acquire) == 0) return false;
  const auto address = reinterpret_cast<uintptr_t>(from);
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [begin, block] = *--after;
  return address - begin <= block.bytes && bytes <= block.bytes - (address - begin);
}

void HostMemory::forget() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [](const auto& entry) { return static_cast<bool>(entry.second.buffer); });
  count_.store(blocks_.size(), std::memory_order_release);
}

Staging::~Staging() { context_.host_memory.release(memory_); }

const void* Staging::stage(cl_command_queue queue, const void* from, size_t bytes) {
  if (memory_ == nullptr) {
    memory_ = static_cast<std::byte*>(context_.host_memory.allocate(closed_.size() * kSegmentBytes));
    if (memory_ == nullptr) return nullptr;
  }
  if (used_ + bytes > kSegmentBytes) close_segment(queue);
  std::byte* at = memory_ + segment_ * kSegmentBytes + used_;
  std::memcpy(at, from, bytes);
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

void Staging::close_segment(cl_command_queue queue) {
  const Api& cl = context_.cl;
  cl_event event = nullptr;
  check(cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event), "clEnqueueMarkerWithWaitList");
  closed_[segment_] = {event, cl.clReleaseEvent};
  check(cl.clFlush(queue), "clFlush");
  segment_ = (segment_ + 1) % closed_.size();
  used_ = 0;
  if (!closed_[segment_]) return;
  const cl_event earlier = closed_[segment_].get();
  check(cl.clWaitForEvents(1, &earlier), "clWaitForEvents");
  closed_[segment_] = {};
}

}  // namespace kymo::device::opencl
