#include "device/vulkan/staging.h"

#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {
constexpr uint64_t kStagingAlignment = 64;
}

Staging::~Staging() { context_.destroy(buffer_); }

void Staging::allocate() {
  const bool for_copies = use_ == Use::Copies;
  buffer_ = for_copies ? context_.make_host_buffer(kBytes) : context_.make_argument_buffer(kBytes);
  if (buffer_.handle == VK_NULL_HANDLE)
    throw DeviceError(for_copies ? "vulkan: no host memory left for copies (4 MiB per stream)"
                                 : "vulkan: no memory left for the arguments of kernels (4 MiB per stream)");
}

std::optional<Staging::Space> Staging::take(size_t bytes, uint64_t value) {
  if (buffer_.handle == VK_NULL_HANDLE) allocate();
  uint64_t begin = (head_ + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
  if (begin % kBytes + bytes > kBytes) begin = (begin / kBytes + 1) * kBytes;  // it does not wrap
  while (begin + bytes - tail_ > kBytes) {
    if (!timeline_.reached(used_.front().value)) return std::nullopt;
    tail_ = used_.front().end;
    used_.pop_front();
  }
  head_ = begin + bytes;
  if (used_.empty() || used_.back().value != value) used_.push_back({head_, value});
  used_.back().end = head_;
  const uint64_t offset = begin % kBytes;
  return Space{buffer_.mapped + offset, buffer_.handle, offset, buffer_.address + offset};
}

}  // namespace kymo::device::vulkan
