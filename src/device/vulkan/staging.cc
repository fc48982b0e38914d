#include "device/vulkan/staging.h"

#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {
constexpr uint64_t kStagingAlignment = 64;
}

Staging::~Staging() { context_.destroy(buffer_); }

std::optional<Staging::Space> Staging::take(size_t bytes, uint64_t value) {
  if (buffer_.handle == VK_NULL_HANDLE) {
    buffer_ = context_.make_host_buffer(kBytes);
    if (buffer_.handle == VK_NULL_HANDLE)
      throw DeviceError("vulkan: no host memory left for copies (4 MiB per stream)");
  }
  while (!used_.empty() && timeline_.reached(used_.front().value)) {
    tail_ = used_.front().end;
    used_.pop_front();
  }
  if (used_.empty()) tail_ = head_;
  uint64_t begin = (head_ + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
  if (begin % kBytes + bytes > kBytes) begin = (begin / kBytes + 1) * kBytes;  // it does not wrap
  if (begin + bytes - tail_ > kBytes) return std::nullopt;
  head_ = begin + bytes;
  used_.push_back({head_, value});
  return Space{buffer_.mapped + begin % kBytes, buffer_.handle, begin % kBytes};
}

}  // namespace kymo::device::vulkan
