#include "convert/kineto.h"

#include <algorithm>
#include <array>

#include "convert/json_list.h"

namespace kymo::convert::kineto {

namespace {

constexpr std::string_view kDeviceRuntime = "device";  // the category of the calls of Kymo's device runtime
constexpr std::string_view kLaunchCategory = "cuda_runtime";

struct Renamed {
  std::string_view name;
  Names names;
};

constexpr Renamed kDeviceWork[] = {
    {"copy host to device", {"gpu_memcpy", "Memcpy HtoD (Host -> Device)"}},
    {"copy device to host", {"gpu_memcpy", "Memcpy DtoH (Device -> Host)"}},
    {"copy on device", {"gpu_memcpy", "Memcpy DtoD (Device -> Device)"}},
    {"fill", {"gpu_memset", "Memset (Device)"}},
};
constexpr Renamed kLaunches[] = {
    {"launch {}", {kLaunchCategory, "cudaLaunchKernel"}},
    {"queue copy", {kLaunchCategory, "cudaMemcpyAsync"}},
    {"queue fill", {kLaunchCategory, "cudaMemsetAsync"}},
};
constexpr std::array<std::string_view, 6> kDeviceCategories{"gpu_memcpy", "gpu_memset", "gpu_user_annotation",
                                                            "cuda_sync",  "cuda_event", "gpu_op"};
constexpr std::array<std::string_view, 6> kLists{"Input Dims",      "Input Strides", "Input type",
                                                 "Concrete Inputs", "grid",          "block"};

}  // namespace

bool is_operation(std::string_view category) {
  return category.empty() || category == kOperator || category == kAnnotation;
}

Names device_work(std::string_view name, std::string_view category) {
  if (std::find(kDeviceCategories.begin(), kDeviceCategories.end(), category) != kDeviceCategories.end())
    return {category, {}};
  if (category == "sync") return {"cuda_sync", {}};  // markers and barriers of OpenCL
  for (const Renamed& one : kDeviceWork)
    if (one.name == name) return one.names;
  return {"kernel", {}};
}

Names launch(std::string_view name, std::string_view category) {
  if (category != kDeviceRuntime) return {};
  for (const Renamed& one : kLaunches)
    if (one.name == name) return one.names;
  return {};
}

bool is_list(std::string_view key, std::string_view text) {
  return std::find(kLists.begin(), kLists.end(), key) != kLists.end() && is_json_list(text);
}

}  // namespace kymo::convert::kineto
