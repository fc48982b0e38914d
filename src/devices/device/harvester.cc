#include "device/harvester.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "device/devices.h"
#include "device/stream_state.h"
#include "kymo/queue.h"

namespace kymo::device {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr uint64_t kFlushWaitNs = 5'000'000'000;  // how long the end of a session waits for all devices

struct Harvester {
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<bool> awake{false};  // the thread is running: no need to wake it

  bool look() {
    bool pending = false;
    for (DeviceState* device : open_devices())
      for (StreamState* stream : device->streams()) {
        if (!stream->has_pending()) continue;
        stream->harvest(0);
        pending |= stream->has_pending();
      }
    return pending;
  }

  void run() {
    while (true) {
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return awake.load(); });
      }
      std::this_thread::sleep_for(kLookEvery);
      if (look()) continue;
      awake = false;
      std::atomic_thread_fence(std::memory_order_seq_cst);  // see QueueRecorder::add
      if (look()) awake = true;                             // work that was queued in between
    }
  }
};

Harvester& harvester() {
  static auto& one = *new Harvester;
  return one;
}

void flush(void*) { harvest_all(base::monotonic_ns() + kFlushWaitNs); }

void start() {
  kymo_on_flush(flush, nullptr);
  try {
    base::quiet_thread("kymo-harvester", [] { harvester().run(); }).detach();
  } catch (const std::system_error&) {
    // No thread could be started: later operations and the end of the session collect finished work.
  }
}

}  // namespace

void harvest_all(uint64_t deadline_ns) noexcept {
  for (DeviceState* device : open_devices())
    for (StreamState* stream : device->streams()) stream->harvest(deadline_ns);
}

void watch_pending_work() {
  static std::once_flag once;
  std::call_once(once, start);
  Harvester& one = harvester();
  if (one.awake.load(std::memory_order_relaxed)) return;
  {
    std::lock_guard lock(one.mutex);
    one.awake = true;
  }
  one.wake.notify_one();
}

}  // namespace kymo::device
