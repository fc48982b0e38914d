#include "device/vulkan/clock.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

bool can_calibrate(const Context& context) {
  const auto& list = context.instance().api().vkGetPhysicalDeviceCalibrateableTimeDomainsEXT;
  if (!context.physical().calibrated_clock || list == nullptr || context.api().vkGetCalibratedTimestampsEXT == nullptr)
    return false;
  uint32_t count = 0;
  if (list(context.physical().handle, &count, nullptr) < 0) return false;
  std::vector<VkTimeDomainEXT> domains(count);
  if (list(context.physical().handle, &count, domains.data()) < 0) return false;
  const auto has = [&](VkTimeDomainEXT domain) { return std::ranges::find(domains, domain) != domains.end(); };
  return has(VK_TIME_DOMAIN_DEVICE_EXT) && has(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT);
}

}  // namespace

DeviceClock::DeviceClock(Context& context, QuerySlots& markers)
    : context_(context), markers_(markers), calibrated_(can_calibrate(context)) {}

base::ClockPair DeviceClock::read() {
  if (!context_.physical().timestamps) throw NotAvailable("vulkan: this device has no timestamps for compute");
  return calibrated_ ? calibrated() : bracketed();
}

base::ClockPair DeviceClock::calibrated() {
  std::array<VkCalibratedTimestampInfoEXT, 2> wanted;
  wanted.fill(structure<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT));
  wanted[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
  wanted[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
  std::array<uint64_t, 2> times{};
  uint64_t deviation = 0;
  context_.check(context_.api().vkGetCalibratedTimestampsEXT(context_.device(), wanted.size(), wanted.data(),
                                                             times.data(), &deviation),
                 "vkGetCalibratedTimestampsEXT");
  return {times[0], times[1], times[1] + base::realtime_offset().ns, deviation};
}

base::ClockPair DeviceClock::bracketed() {
  constexpr int kTries = 8;
  const std::lock_guard lock(mutex_);
  if (queue_ == nullptr) queue_ = std::make_unique<StreamQueue>(context_);
  TimelineMarker marker(context_, &markers_);
  std::optional<base::ClockPair> best;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = base::monotonic_ns();
    queue_->record(marker);
    marker.synchronize();
    const uint64_t after = base::monotonic_ns();
    const auto ticks = marker.time();
    const uint64_t error = (after - before + 1) / 2;
    if (!ticks || (best && error >= best->error_ns)) continue;
    best = base::ClockPair{*ticks, before + (after - before) / 2, 0, error};
  }
  if (!best) throw DeviceError("vulkan: the device wrote no timestamp");
  best->realtime_ns = best->monotonic_ns + base::realtime_offset().ns;
  return *best;
}

}  // namespace kymo::device::vulkan
