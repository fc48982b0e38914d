#include "device/watcher.h"

#include <mutex>

#include "device/harvester.h"
#include "device/queue_recorder.h"
#include "kymo/queue.h"

namespace kymo::device {
namespace {

std::array<std::atomic<Watcher*>, kWatcherRoles> watchers{};

}  // namespace

void set_watcher(WatcherRole role, Watcher* watcher) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  watchers[static_cast<size_t>(role)].store(watcher, std::memory_order_release);
  bool any = false;
  for (const auto& one : watchers) any |= one.load(std::memory_order_acquire) != nullptr;
  kymo_watch_devices(any ? 1 : 0);
}

Watcher* watcher(WatcherRole role) noexcept {
  return watchers[static_cast<size_t>(role)].load(std::memory_order_acquire);
}

void tell_what_ran(uint64_t wait_ns) { harvest_all(now_ns() + wait_ns); }

}  // namespace kymo::device
