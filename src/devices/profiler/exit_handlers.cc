#include "profiler/exit_handlers.h"

#include <pthread.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/watcher.h"
#include "profiler/interrupt.h"
#include "profiler/profiler.h"

namespace kymo::profiler {
namespace {

constinit std::atomic<Profiler*> this_profiler{nullptr};
constinit Profiler* parents_profiler = nullptr;  // in a forked child: the profiler of its parent
constinit std::atomic<bool> exit_reached{false};
thread_local constinit const device::StreamState *last_stream_used = nullptr, *last_stream_ran = nullptr;

struct NotedStreams {
  std::mutex mutex;
  std::vector<const device::StreamState*> streams;
};
constinit std::atomic<NotedStreams*> streams_used{nullptr}, streams_ran{nullptr};

// For objects that are created once and replaced in a forked child.
template <class T>
T& made_once(std::atomic<T*>& place) {
  T* there = place.load(std::memory_order_acquire);
  if (__builtin_expect(there != nullptr, 1)) return *there;
  auto made = std::make_unique<T>();
  if (place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *there;
}

// The handler that was registered last runs first, and does the work: later ones may run when drivers are unloaded.
void at_exit() {
  if (exit_reached.exchange(true)) return;
  if (Profiler* profiler = the_profiler_or_null()) profiler->print_at_end();
}

void note_in(std::atomic<NotedStreams*>& place, const device::StreamState& stream) noexcept {
  try {
    NotedStreams& noted = made_once(place);
    std::lock_guard lock(noted.mutex);
    if (std::ranges::find(noted.streams, &stream) != noted.streams.end()) return;
    noted.streams.push_back(&stream);
  } catch (const std::exception&) {
    return;
  }
  atexit(at_exit);
}

// Threads that the child does not have may hold locks, so the locked objects are not used and are created again.
void in_child() {
  device::set_watcher(device::WatcherRole::Profiler, nullptr);
  parents_profiler = this_profiler.exchange(nullptr);
  streams_used.store(nullptr, std::memory_order_release);
  streams_ran.store(nullptr, std::memory_order_release);
  last_stream_used = last_stream_ran = nullptr;
  forget_scopes();
  drop_interrupts_in_child();
}

}  // namespace

Profiler& the_profiler() { return made_once(this_profiler); }
Profiler* the_profiler_or_null() noexcept { return this_profiler.load(std::memory_order_acquire); }

void note_stream_used(const device::StreamState& stream) noexcept {
  if (__builtin_expect(std::exchange(last_stream_used, &stream) != &stream, 0)) note_in(streams_used, stream);
}

void note_stream_ran(const device::StreamState& stream) noexcept {
  if (__builtin_expect(std::exchange(last_stream_ran, &stream) != &stream, 0)) note_in(streams_ran, stream);
}

void print_at_exit() noexcept { atexit(at_exit); }

void watch_forks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, in_child); });
}

}  // namespace kymo::profiler
