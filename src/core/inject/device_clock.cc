#include "inject/device_clock.h"

#include <algorithm>

namespace kymo::inject {
namespace {

constexpr uint64_t kExactNs = 20'000;
constexpr int64_t kTimerGrain = 2'000;  // ns: how coarse a device's timer may be

// The host's time minus the device's.
int64_t difference(uint64_t host, uint64_t device) noexcept { return static_cast<int64_t>(host - device); }

Bounds bounds_of(const TimerReading& reading) noexcept {
  return {difference(reading.before, reading.device), difference(reading.after, reading.device)};
}

}  // namespace

void DeviceClock::add(const CommandTimes& times) noexcept {
  if (times.before > times.after || times.start > times.end) return;
  const auto error = static_cast<int64_t>(times.host_error_ns);
  queued_ =
      queued_ & Bounds{difference(times.before, times.queued) - error, difference(times.after, times.queued) + error};
  execution_ =
      execution_ & Bounds{difference(times.before, times.start) - error, difference(times.seen, times.end) + error};
  last_device_ = std::max(last_device_, times.queued);
  ++commands_;
}

// A driver whose QUEUED times are from another clock than START and END, or are not taken during the call, contradicts
// itself. Then only the execution counts: that is what is recorded.
Bounds DeviceClock::bounds() const noexcept {
  const Bounds both = queued_ & execution_;
  return both.empty() ? execution_ : both;
}

bool DeviceClock::is_exact() const noexcept {
  const Bounds now = bounds();
  return has_enough() || (now.known() && !now.empty() && now.width() <= kExactNs);
}

std::optional<base::ClockPair> DeviceClock::take_pair(std::span<const TimerReading> host_clocks,
                                                      const std::optional<TimerReading>& timer) noexcept {
  if (commands_ == 0) return std::nullopt;
  Bounds found = bounds();
  // The clock drifts, or was set: the newest command alone is right about now, and the others are not needed.
  if (found.empty()) found = {std::min(found.low, found.high), std::max(found.low, found.high)};

  // All clocks of the host that agree with the commands. There is more than one while they differ by less than the
  // bounds do.
  Bounds host{INT64_MAX, INT64_MIN};
  for (const TimerReading& reading : host_clocks) {
    const Bounds one = bounds_of(reading);
    if ((one & found).empty()) continue;
    host = {std::min(host.low, one.low), std::max(host.high, one.high)};
  }
  if (!host.empty() && host.width() < found.width()) {
    found = host;
  } else if (timer && timer_fits_) {
    const Bounds one = bounds_of(*timer);
    const Bounds wide{found.low - kTimerGrain, found.high + kTimerGrain};
    timer_fits_ = !(one & wide).empty();
    if (timer_fits_ && one.width() < found.width()) found = one;
  }

  base::ClockPair pair;
  pair.ticks = last_device_;
  const uint64_t half = found.width() / 2;
  pair.monotonic_ns = last_device_ + static_cast<uint64_t>(found.low) + half;
  pair.error_ns = half + 1;
  queued_ = execution_ = {};
  commands_ = 0;
  return pair;
}

}  // namespace kymo::inject
