// What the recorders of the OpenCL and the Vulkan layer share: there is one in a process, and one thread of it looks a
// hundred times per second for work that has completed, while some is pending. It waits for nothing: what does not
// complete is counted as lost at the end of the session.
//
//   class Recorder : public LayerRecorder<Recorder> {
//     static constexpr record::Interface kInterface;   // and kThreadName
//     void look();                                      // writes what has completed; with mutex_
//     bool has_pending() const;                         // with mutex_
//     void flush(uint64_t quiet_ns) noexcept;           // at the end of a session or of the process
//   };
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "inject/adapter.h"
#include "kymo/annotate.h"
#include "kymo/queue.h"
#include "record/interfaces.h"

namespace kymo::inject {

template <class Recorder>
class LayerRecorder {
 public:
  // The recorder of this process. Never destroyed. A forked child gets a new one with its first use: the parent's
  // devices stay with the parent.
  static Recorder& of_process() noexcept {
    Recorder* const known = current.load(std::memory_order_acquire);
    return known != nullptr ? *known : make();
  }

  // The number of the recording, never 0: what belongs to an earlier one and completes late is not written.
  uint32_t recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  // The process exits: the driver may not be called from now on.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }
  void open() noexcept { closed_.store(false, std::memory_order_relaxed); }
  bool is_closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

 protected:
  static constexpr uint64_t kMillisecond = 1'000'000;
  static constexpr uint64_t kPairEvery = 1000 * kMillisecond;
  static constexpr uint64_t kFirstPairAfter = 100 * kMillisecond;  // even if it is not exact yet
  static constexpr uint64_t kQuietAtEnd = 1000 * kMillisecond;     // of a session, or of a device
  static constexpr uint64_t kQuietAtExit = 100 * kMillisecond;
  static constexpr uint64_t kLongestFlush = 5000 * kMillisecond;

  // Something is pending: call it after it was added. Either we see that the thread sleeps, or it sees what was added.
  void wake_if_asleep() noexcept {
    if (!awake_.load(std::memory_order_seq_cst)) wake(true);
  }
  // Lets the thread look if it was started. Starts no thread: the process may be exiting.
  void wake_if_started() noexcept { wake(false); }

  // Calls `drain` until `is_done`, as long as `progress` changes, with a pause of at most `quiet_ns`.
  template <class Drain, class Progress, class IsDone>
  void drain_while_some_completes(std::unique_lock<std::mutex>& lock, uint64_t quiet_ns, Drain drain, Progress progress,
                                  IsDone is_done) {
    const uint64_t began = base::monotonic_ns();
    uint64_t last_progress = began;
    for (uint64_t before = progress();;) {
      drain();
      const uint64_t now = base::monotonic_ns(), after = progress();
      if (std::exchange(before, after) != after) last_progress = now;
      if (is_done() || now - last_progress >= quiet_ns || now - began >= kLongestFlush) break;
      lock.unlock();  // the program goes on
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
    }
  }

  std::atomic<uint32_t> recording_{1};
  mutable std::mutex mutex_;  // held while the queues' tracks are used

 private:
  static constexpr auto kLookEvery = std::chrono::milliseconds(10);

  [[gnu::noinline]] static Recorder& make() noexcept {
    const std::lock_guard lock(making);
    if (Recorder* known = current.load(std::memory_order_acquire)) return *known;
    static bool has_handler = false;
    if (!std::exchange(has_handler, true)) pthread_atfork(nullptr, nullptr, forget_in_child);
    static Immortal<Recorder> storage;
    Recorder& made = storage.make();
    current.store(&made, std::memory_order_release);
    return made;
  }

  // The threads of the driver and of the layer are not in the child, and locks may be held by them for ever.
  static void forget_in_child() {
    current.store(nullptr, std::memory_order_relaxed);
    new (&making) std::mutex;
  }

  static void flush_at_end(void*) { of_process().flush(kQuietAtEnd); }

  // Before the driver's own handlers, which were registered earlier: after them it must not be called.
  static void flush_at_exit() {
    Recorder* const one = current.load(std::memory_order_acquire);
    if (one == nullptr) return;
    if (kymo::detail::recording()) one->flush(kQuietAtExit);
    one->close();
  }

  void wake(bool is_pending) noexcept {
    {
      const std::lock_guard lock(wake_mutex_);
      if (!is_pending && !started_) return;
      if (!std::exchange(started_, true)) start_thread();
      awake_.store(true, std::memory_order_seq_cst);
      if (is_pending) record::set_pending(Recorder::kInterface, true);
    }
    wake_.notify_one();
  }

  void start_thread() noexcept {
    kymo_on_flush(flush_at_end, nullptr);
    atexit(flush_at_exit);
    try {
      base::quiet_thread(Recorder::kThreadName, [this] { run(); }).detach();
    } catch (const std::system_error&) {
      // No thread could be started: the end of the session writes what is pending.
    }
  }

  void run() noexcept {
    auto& self = static_cast<Recorder&>(*this);
    while (true) {
      {
        std::unique_lock lock(wake_mutex_);
        wake_.wait(lock, [&] { return awake_.load(); });
      }
      std::this_thread::sleep_for(kLookEvery);
      const std::lock_guard lock(mutex_);
      try {
        if (!is_closed()) self.look();
        if (!is_closed() && self.has_pending()) continue;
        record::set_pending(Recorder::kInterface, false);
        awake_.store(false, std::memory_order_seq_cst);
        if (is_closed() || !self.has_pending()) continue;
        awake_.store(true);  // something was added in between
        record::set_pending(Recorder::kInterface, true);
      } catch (const std::bad_alloc&) {
        // What was taken is written or lost; the program goes on.
      }
    }
  }

  inline static std::atomic<Recorder*> current{nullptr};
  inline static std::mutex making;

  std::atomic<bool> closed_{false};
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  std::atomic<bool> awake_{false};
  bool started_ = false;
};

}  // namespace kymo::inject
