// One moment on the device's clock and on the host's.
#pragma once

#include <memory>
#include <mutex>

#include "base/clock.h"
#include "device/backend.h"
#include "device/vulkan/stream_queue.h"

namespace kymo::device::vulkan {

// Thread-safe. With VK_EXT_calibrated_timestamps the driver reads both clocks, in about a microsecond. Without it, a
// timestamp is submitted between two readings of the host's clock, and the closest of several is taken.
class DeviceClock {
 public:
  // `markers`: the source of the queries of markers.
  DeviceClock(Context& context, QuerySlots& markers);
  base::ClockPair read();  // throws NotAvailable if the device has no timestamps

 private:
  base::ClockPair calibrated();
  base::ClockPair bracketed();

  Context& context_;
  QuerySlots& markers_;
  bool calibrated_ = false;
  std::mutex mutex_;
  std::unique_ptr<StreamQueue> queue_;  // for the second method
};

}  // namespace kymo::device::vulkan
