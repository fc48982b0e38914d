#include "device/opencl/devices.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/host.h"
#include "base/text.h"
#include "device/language.h"
#include "device/opencl/api.h"
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
  while (!text.empty() && (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back()))))
    text.pop_back();
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

std::string ask_text(const Api& cl, cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (cl.clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (cl.clGetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(text);
}

std::string ask_text(const Api& cl, cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (cl.clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (cl.clGetPlatformInfo(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(text);
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
  return base::opencl_device_uuid(ask_text(cl, platform, CL_PLATFORM_NAME), info.vendor, info.name, index_in_platform);
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
  info.vendor = ask_text(cl, device, CL_DEVICE_VENDOR);
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
                        compiles_at_launch(type, version), newest_language(cl, ids[i]),
                        describe(cl, platform, ids[i], static_cast<int>(i))}});
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

}  // namespace kymo::device::opencl
