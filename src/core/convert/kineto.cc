#include "convert/kineto.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>

#include "base/printable.h"
#include "base/text.h"

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
