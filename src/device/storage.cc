#include "device/storage.h"

#include <array>

#include "device/stream_state.h"
#include "device/work_capture.h"
#include "kymo/error.h"
#include "kymo/queue.h"

namespace kymo::device {
namespace {

constexpr kymo_label kLabel{"device memory", "memory", 13, 6, 0};

}  // namespace

Storage::Storage(DeviceState& device, size_t bytes, StreamState& stream)
    : device_(device), bytes_(bytes), stream_(stream.id()), generation_(device.generation()) {
  device.check_usable();
  if (bytes == 0) return;
  block_ = device.allocator().allocate(bytes, stream_);
  address_ = block_->address;
  if (kymo::detail::recording()) {
    const std::array args{kymo::bytes("bytes", block_->size), kymo::arg("device", std::string_view(device.name())),
                          kymo::arg("stream", stream_),
                          kymo::bytes("allocated", device.allocator().current_allocated()),
                          kymo::bytes("reserved", device.allocator().reserved())};
    kymo_allocation(&kLabel, args.data(), args.size(), address_);
  }
}

Storage::~Storage() {
  if (block_ == nullptr || forked_with_devices.load(std::memory_order_relaxed)) return;
  if (WorkCapture* capture = work_capture()) capture->freed(*this);
  if (kymo::detail::recording()) {
    const std::array args{kymo::bytes("bytes", block_->size), kymo::arg("device", std::string_view(device_.name())),
                          kymo::arg("stream", stream_)};
    kymo_free(&kLabel, args.data(), args.size(), address_);
  }
  device_.allocator().free(block_);
}

void Storage::use_on(const StreamState& stream) {
  if (block_ != nullptr && stream.id() != stream_) device_.allocator().used_on(block_, stream.id());
}

void Storage::refuse() const {
  throw Error("this tensor was created before its device was reset: its contents are gone");
}

}  // namespace kymo::device
