#include "convert/device_types.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace kymo::convert {

namespace {

// By number.
constexpr std::array<std::string_view, 15> kTypes{"CPU",  "CUDA", "MKLDNN", "OpenGL", "OpenCL", "IDEEP", "HIP", "FPGA",
                                                  "MAIA", "XLA",  "Vulkan", "Metal",  "XPU",    "MPS",   "Meta"};

bool has_name(int64_t type) { return type >= 0 && type < static_cast<int64_t>(kTypes.size()); }

std::string lower_name(size_t type) {
  std::string name(kTypes[type]);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

}  // namespace

std::string device_label(const DeviceNumbers& device) {
  const int64_t index = std::max<int64_t>(device.index, 0);
  if (!has_name(device.type)) return base::format("device {}:{}", device.type, index);
  return base::format("{} {}", kTypes[static_cast<size_t>(device.type)], index);
}

std::string device_key(const DeviceNumbers& device) {
  const std::string name =
      has_name(device.type) ? lower_name(static_cast<size_t>(device.type)) : base::format("device {}", device.type);
  return device.index < 0 || device.type == 0 ? name : base::format("{}:{}", name, device.index);
}

DeviceNumbers device_numbers(std::string_view key) {
  const std::string_view name = key.substr(0, key.find(':'));
  for (size_t type = 1; type < kTypes.size(); ++type) {
    if (lower_name(type) != name) continue;
    const std::string_view number = key.substr(std::min(name.size() + 1, key.size()));
    int64_t index = 0;
    std::from_chars(number.data(), number.data() + number.size(), index);
    return {static_cast<int64_t>(type), std::max<int64_t>(index, 0)};
  }
  return {};
}

}  // namespace kymo::convert
