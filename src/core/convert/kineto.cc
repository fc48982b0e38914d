#include "convert/kineto.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>

#include "base/printable.h"
#include "base/text.h"
#include "trace/device_range.h"

namespace kymo::convert::kineto {

namespace {

constexpr std::string_view kRuntime = "cuda_runtime", kDriver = "cuda_driver";
constexpr std::string_view kCopy = "gpu_memcpy", kFill = "gpu_memset";

struct Renamed {
  std::string_view name;
  std::string_view other;
};

// Vulkan's copies are between memory of the device; map and unmap are OpenCL's.
constexpr Renamed kCopies[] = {
    {"copy host to device", "Memcpy HtoD (Host -> Device)"},
    {"copy device to host", "Memcpy DtoH (Device -> Host)"},
    {"copy on device", "Memcpy DtoD (Device -> Device)"},
    {"copy between devices", "Memcpy PtoP (Device -> Device)"},
    {"copy on host", "Memcpy HtoH (Host -> Host)"},
    {"copy buffer", "Memcpy DtoD (Device -> Device)"},
    {"copy image", "Memcpy DtoD (Device -> Device)"},
    {"copy buffer to image", "Memcpy DtoD (Device -> Device)"},
    {"copy image to buffer", "Memcpy DtoD (Device -> Device)"},
    {"blit image", "Memcpy DtoD (Device -> Device)"},
    {"resolve image", "Memcpy DtoD (Device -> Device)"},
    {"update buffer", "Memcpy HtoD (Host -> Device)"},
    {"map", "Memcpy DtoH (Device -> Host)"},
    {"unmap", "Memcpy HtoD (Host -> Device)"},
};
constexpr std::string_view kUnknownCopy = "Memcpy Unknown", kUnknownFill = "Memset (Device)";

// The calls of Kymo's device runtime and of OpenCL and Vulkan, whose category is "device". "launch …" is another one.
constexpr Renamed kCalls[] = {
    {"submit", "cudaLaunchKernel"},
    {"queue copy", "cudaMemcpyAsync"},
    {"queue map", "cudaMemcpyAsync"},
    {"queue unmap", "cudaMemcpyAsync"},
    {"queue migration", "cudaMemcpyAsync"},
    {"queue fill", "cudaMemsetAsync"},
    {"queue marker", "cudaEventRecord"},
    {"queue barrier", "cudaStreamWaitEvent"},
    {"wait for queue", "cudaStreamSynchronize"},
    {"wait for events", "cudaEventSynchronize"},
    {"wait for fences", "cudaEventSynchronize"},
    {"wait for semaphores", "cudaEventSynchronize"},
    {"wait for device", "cudaDeviceSynchronize"},
};

std::string_view other_name(std::span<const Renamed> table, std::string_view name) {
  for (const Renamed& one : table)
    if (one.name == name) return one.other;
  return {};
}
constexpr std::array<std::string_view, 6> kLists{"Input Dims",      "Input Strides", "Input type",
                                                 "Concrete Inputs", "grid",          "block"};

}  // namespace

bool is_operation(std::string_view category) {
  return category.empty() || category == kOperator || category == kAnnotation;
}

Names device_range(std::string_view name, std::string_view category) {
  switch (trace::device_range(category)) {
    case trace::DeviceRange::Copy: {
      const std::string_view known = other_name(kCopies, name);
      return {kCopy, !known.empty() ? known : name.starts_with("Memcpy") ? std::string_view() : kUnknownCopy};
    }
    case trace::DeviceRange::Fill:
      return {kFill, name.starts_with("Memset") ? std::string_view() : kUnknownFill};
    case trace::DeviceRange::Wait:
      return {"cuda_sync", {}};
    case trace::DeviceRange::Annotation:
      return {category == "cuda_event" ? category : kDeviceAnnotation, {}};
    case trace::DeviceRange::Kernel:
      break;
  }
  return {category == "gpu_op" ? category : "kernel", {}};
}

Names device_work(std::string_view name) {
  if (name == "fill") return device_range(name, kFill);
  return device_range(name, other_name(kCopies, name).empty() ? std::string_view() : kCopy);
}

Names device_call(std::string_view name, std::string_view category) {
  if (category == "device") {
    const std::string_view known = name.starts_with("launch ") ? "cudaLaunchKernel" : other_name(kCalls, name);
    return known.empty() ? Names{} : Names{kRuntime, known};
  }
  if (category != "cuda") return {};  // functions of CUDA's driver
  if (name.starts_with("cuMemcpy")) return {kRuntime, "cudaMemcpyAsync"};
  if (name.starts_with("cuMemset")) return {kRuntime, "cudaMemsetAsync"};
  if (name == "cuLaunchKernelEx" || name == "cuLaunchCooperativeKernel") return {kDriver, "cuLaunchKernel"};
  return {kDriver, {}};
}

bool is_list(std::string_view key, std::string_view text) {
  return std::find(kLists.begin(), kLists.end(), key) != kLists.end() && is_json_list(text);
}

}  // namespace kymo::convert::kineto

namespace kymo::convert {

namespace {

constexpr int kDeepest = 64;

class ListChecker {
 public:
  explicit ListChecker(std::string_view text) : text_(text) {}

  bool passes() {
    skip_blanks();
    if (!list(0)) return false;
    skip_blanks();
    return at_ == text_.size();
  }

 private:
  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (is_next(' ')) ++at_;
  }

  bool list(int depth) {
    if (depth >= kDeepest || !take('[')) return false;
    skip_blanks();
    if (take(']')) return true;
    do {
      skip_blanks();
      if (!item(depth)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool item(int depth) {
    if (is_next('[')) return list(depth + 1);
    if (is_next('"')) return string();
    return take("true") || take("false") || take("null") || number();
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < ' ' || (c == '\\' && !escape())) return false;
    }
    return false;
  }
  // Leaves its last character to the caller.
  bool escape() {
    if (++at_ >= text_.size()) return false;
    if (text_[at_] != 'u') return std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      const std::string_view kHex = "0123456789abcdefABCDEF";
      if (++at_ >= text_.size() || kHex.find(text_[at_]) == std::string_view::npos) return false;
    }
    return true;
  }

  size_t digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - begin;
  }
  bool number() {
    take('-');
    const bool starts_with_zero = is_next('0');
    const size_t whole = digits();
    if (whole == 0 || (starts_with_zero && whole > 1)) return false;
    if (take('.') && digits() == 0) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits() != 0;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool is_json_list(std::string_view untrusted) {
  if (!ListChecker(untrusted).passes()) return false;
  std::string room;
  return base::valid_utf8(untrusted, room).data() == untrusted.data();
}

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
