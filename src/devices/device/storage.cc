#include "device/storage.h"

#include <array>
#include <bit>
#include <exception>

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

Storage::Storage(DeviceState& device, Address address, size_t bytes, bool shared_host, std::shared_ptr<void> owner)
    : device_(device),
      address_(address),
      bytes_(bytes),
      generation_(device.generation()),
      is_foreign_(true),
      owner_(std::move(owner)),
      shared_host_(shared_host) {}

Storage::~Storage() {
  if ((block_ == nullptr && !is_foreign_) || forked_with_devices.load(std::memory_order_relaxed)) return;
  if (WorkCapture* capture = work_capture()) capture->freed(*this);
  if (is_foreign_) {
    if (owner_ == nullptr) return;
    if (generation_ != device_.generation()) return;  // a reset has ended all work, and all sharing
    wait_for_users();
    if (shared_host_) device_.accelerator().unshare_host(address_);
    return;
  }
  if (kymo::detail::recording()) {
    const std::array args{kymo::bytes("bytes", block_->size), kymo::arg("device", std::string_view(device_.name())),
                          kymo::arg("stream", stream_)};
    kymo_free(&kLabel, args.data(), args.size(), address_);
  }
  device_.allocator().free(block_);
}

// With a marker, because a synchronize() would take an error that another caller must get.
void Storage::wait_for_users() noexcept {
  for (uint64_t left = users_.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    try {
      StreamState& stream = device_.stream(static_cast<StreamId>(std::countr_zero(left)));
      if (stream.query()) continue;
      Marker* marker = device_.take_marker(false);
      stream.with_queue([&](Queue& queue) {
        queue.record(*marker);
        queue.flush();
      });
      marker->synchronize();
      device_.give_marker(marker, false, generation_);
    } catch (const std::exception&) {
      continue;  // the device failed: nothing runs on it any more
    }
  }
}

void Storage::use_on(const StreamState& stream) {
  if (owner_ != nullptr) {
    static_assert(kPoolStreams < kMaxStreams);
    users_.fetch_or(uint64_t{1} << stream.id(), std::memory_order_release);
    return;
  }
  if (block_ != nullptr && stream.id() != stream_) device_.allocator().used_on(block_, stream.id());
}

void Storage::refuse() const {
  throw Error("this tensor was created before its device was reset: its contents are gone");
}

}  // namespace kymo::device
