#include "device/watcher.h"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "base/clock.h"
#include "device/queue_recorder.h"
#include "device/stream_state.h"
#include "kymo/queue.h"

namespace kymo::device {
namespace {

std::array<std::atomic<Watcher*>, kWatcherRoles> watchers{};
std::atomic<bool> some_want_own_times{false};

}  // namespace

void set_watcher(WatcherRole role, Watcher* watcher) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  watchers[static_cast<size_t>(role)].store(watcher, std::memory_order_release);
  bool any = false, own_times = false;
  for (const auto& one : watchers) {
    const Watcher* const there = one.load(std::memory_order_acquire);
    any |= there != nullptr;
    own_times |= there != nullptr && there->wants_own_times();
  }
  some_want_own_times.store(own_times, std::memory_order_relaxed);
  kymo_watch_devices(any ? 1 : 0);
}

Watcher* watcher(WatcherRole role) noexcept {
  return watchers[static_cast<size_t>(role)].load(std::memory_order_acquire);
}

bool own_times_wanted() noexcept { return some_want_own_times.load(std::memory_order_relaxed); }

StreamPlace place_of(const StreamState& stream) noexcept {
  const std::string_view name = stream.device().name();  // "vulkan:0"
  const size_t colon = std::min(name.find(':'), name.size());
  StreamPlace place{name.substr(0, colon), 0, static_cast<uint32_t>(stream.id())};
  const std::string_view number = name.substr(std::min(colon + 1, name.size()));
  std::from_chars(number.data(), number.data() + number.size(), place.device);
  return place;
}

void report_completed(uint64_t wait_ns) { harvest_all(base::monotonic_ns() + wait_ns); }

}  // namespace kymo::device
