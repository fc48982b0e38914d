#include "inject/opencl/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock_map.h"
#include "base/quiet_thread.h"
#include "inject/adapter.h"
#include "kymo/queue.h"
#include "record/interfaces.h"

namespace kymo::inject::opencl {
namespace {

constexpr uint64_t kCommandsBetweenLooks = 256;
constexpr auto kLookEvery = std::chrono::milliseconds(10);
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kPairEvery = 1000 * kMillisecond;
constexpr uint64_t kFirstPairAfter = 100 * kMillisecond;  // even if it is not exact yet
constexpr uint64_t kQuietAtEnd = 1000 * kMillisecond;     // of a session
constexpr uint64_t kQuietAtExit = 100 * kMillisecond;
constexpr uint64_t kLongestFlush = 5000 * kMillisecond;
constexpr int kReadings = 4;

base::ClockPair host_clock_now() noexcept {
  return base::read_clock_pair([] { return kymo_ticks(); });
}

// The best of a few readings of `clock`.
template <class Clock>
std::optional<TimerReading> read_timer(Clock clock) noexcept {
  std::optional<TimerReading> best;
  for (int i = 0; i < kReadings; ++i) {
    TimerReading reading;
    reading.before = base::monotonic_ns();
    const std::optional<uint64_t> device = clock();
    reading.after = base::monotonic_ns();
    if (!device) return std::nullopt;
    reading.device = *device;
    if (!best || reading.after - reading.before < best->after - best->before) best = reading;
  }
  return best;
}

std::optional<TimerReading> read_device_timer(DeviceState& device) noexcept {
  if (!device.has_timer || !device.clock.timer_fits() || target.clGetDeviceAndHostTimer == nullptr) return std::nullopt;
  const auto reading = read_timer([&]() -> std::optional<uint64_t> {
    cl_ulong now = 0, host = 0;
    if (target.clGetDeviceAndHostTimer(device.id, &now, &host) != CL_SUCCESS || now == 0) return std::nullopt;
    return now;
  });
  device.has_timer = reading.has_value();
  return reading;
}

std::vector<TimerReading> read_host_clocks(const DeviceState& device) {
  std::vector<TimerReading> readings;
  if (!device.is_cpu) return readings;
  for (const clockid_t clock : {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME})
    readings.push_back(*read_timer([clock] { return std::optional(base::clock_ns(clock)); }));
  return readings;
}

uint64_t between(uint64_t from, uint64_t to) noexcept { return to > from ? to - from : 0; }

std::atomic<Recorder*> current{nullptr};
std::mutex making;

void flush_at_end(void*) { recorder().flush(kQuietAtEnd); }

// Before the driver's own handlers, which were registered earlier: after them it must not be called.
void flush_at_exit() {
  Recorder* one = current.load(std::memory_order_acquire);
  if (one == nullptr) return;
  if (kymo::detail::recording()) one->flush(kQuietAtExit);
  one->close();
}

// The threads of the driver and of the layer are not in the child, and locks may be held by them for ever.
void forget_in_child() {
  current.store(nullptr, std::memory_order_relaxed);
  new (&making) std::mutex;
}

}  // namespace

Recorder& recorder() noexcept {
  if (Recorder* known = current.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(making);
  if (Recorder* known = current.load(std::memory_order_acquire)) return *known;
  static bool has_handler = false;
  if (!std::exchange(has_handler, true)) pthread_atfork(nullptr, nullptr, forget_in_child);
  static Immortal<Recorder> storage;
  Recorder& made = storage.make();
  current.store(&made, std::memory_order_release);
  return made;
}

Recorder::Recorder() noexcept : opened_(host_clock_now()) {}

Command* Recorder::take() noexcept {
  {
    const std::lock_guard lock(unused_mutex_);
    if (Command* first = unused_) {
      unused_ = first->next;
      return first;
    }
  }
  return new (std::nothrow) Command;
}

void Recorder::give_back(Command* command) noexcept {
  const std::lock_guard lock(unused_mutex_);
  command->next = unused_;
  unused_ = command;
}

bool Recorder::add_pending(QueueState& queue) noexcept {
  // Either we see that the thread sleeps, or it sees this command.
  const uint64_t before = queue.enqueued.fetch_add(1, std::memory_order_seq_cst);
  if (!awake_.load(std::memory_order_seq_cst)) wake();
  return before % kCommandsBetweenLooks == kCommandsBetweenLooks - 1;
}

void Recorder::complete(Command& command) noexcept {
  Command* first = completed_.load(std::memory_order_relaxed);
  do {
    command.next = first;
  } while (!completed_.compare_exchange_weak(first, &command, std::memory_order_release, std::memory_order_relaxed));
}

bool Recorder::write(const Command& command) noexcept {
  QueueState& queue = *command.queue;
  if (command.recording != recording()) {  // its recording has ended, and counted it as lost
    if (queue.written_off != 0) --queue.written_off;
    return true;
  }
  if (!command.timed) {
    queue.track.lost(1);
    return false;
  }
  const auto queued_ns = kymo::arg("queued_ns", between(command.queued, command.submitted));
  const auto submitted_ns = kymo::arg("submitted_ns", between(command.submitted, command.start));
  Site& site = *command.site;
  switch (command.form) {
    case Operation::Form::Kernel:
      queue.track.span(site, command.start, command.end, command.correlation, kymo::arg("threads_x", command.sizes[0]),
                       kymo::arg("threads_y", command.sizes[1]), kymo::arg("threads_z", command.sizes[2]),
                       kymo::arg("group_x", command.group[0]), kymo::arg("group_y", command.group[1]),
                       kymo::arg("group_z", command.group[2]), queued_ns, submitted_ns);
      break;
    case Operation::Form::Bytes: {
      const uint64_t ns = between(command.start, command.end);
      const double rate = ns != 0 ? static_cast<double>(command.sizes[0]) / static_cast<double>(ns) : 0;
      queue.track.span(site, command.start, command.end, command.correlation, kymo::bytes("bytes", command.sizes[0]),
                       kymo::arg("GB_per_s", rate), queued_ns, submitted_ns);
      break;
    }
    case Operation::Form::Plain:
      queue.track.span(site, command.start, command.end, command.correlation, queued_ns, submitted_ns);
  }
  return true;
}

void Recorder::write_pairs(const std::vector<QueueState*>& queues, uint64_t now, Pairs pairs) {
  const auto give = [](QueueState& queue, const base::ClockPair& pair) {
    queue.track.clock_pair(pair.ticks, pair.monotonic_ns, pair.realtime_ns, pair.error_ns);
    queue.has_pair = true;
  };
  for (QueueState* queue : queues) {
    DeviceState& device = *queue->device;
    if (!device.clock.has_commands()) continue;
    if (device.clock.has_enough()) device.needs_bounds.store(false, std::memory_order_relaxed);
    if (device.first_command_ns == 0) device.first_command_ns = now;
    const bool is_first = device.last_pair.error_ns == 0;
    const uint64_t waited = now - device.first_command_ns;
    const bool due = is_first ? device.clock.is_exact() || waited >= kFirstPairAfter : waited >= kPairEvery;
    // Two pairs must not be close together: their errors would look like a drift.
    const bool wanted = pairs == Pairs::Now && (is_first || waited >= kFirstPairAfter);
    if (!due && !wanted) continue;
    auto pair =
        device.clock.take_pair(read_host_clocks(device), is_closed() ? std::nullopt : read_device_timer(device));
    if (!pair) continue;
    pair->realtime_ns = pair->monotonic_ns + base::realtime_offset().ns;
    device.last_pair = *pair;
    device.needs_bounds.store(true, std::memory_order_relaxed);
    device.first_command_ns = now;
    for (QueueState* other : queues)
      if (other->device == &device) give(*other, *pair);
  }
  for (QueueState* queue : queues)  // those that are new
    if (!queue->has_pair && queue->device->last_pair.error_ns != 0) give(*queue, queue->device->last_pair);
}

void Recorder::drain_locked(Pairs pairs) {
  // The newest is first: the list is turned around.
  Command* newest = completed_.exchange(nullptr, std::memory_order_acquire);
  Command* oldest = nullptr;
  while (newest != nullptr) {
    Command* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  const base::ClockPair now = host_clock_now();
  const base::ClockMap host(base::Counter{}, std::array{opened_, now});

  const uint64_t began = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  uint64_t written = 0, lost = 0;
  Command* last = nullptr;
  for (Command* command = oldest; command != nullptr; command = command->next) {
    __builtin_prefetch(command->next);
    ++(write(*command) ? written : lost);
    if (command->timed && command->call_ticks != Command::kNotMeasured) {
      const auto ns = [&](uint64_t ticks) { return static_cast<uint64_t>(host.to_monotonic_ns(ticks)); };
      command->queue->device->clock.add({ns(command->began), ns(command->began + command->call_ticks),
                                         ns(command->seen), command->queued, command->start, command->end,
                                         host.error_ns()});
    }
    ++command->queue->settled;
    last = command;
  }
  if (last != nullptr) {
    const std::lock_guard lock(unused_mutex_);
    last->next = unused_;
    unused_ = oldest;
  }
  const std::vector<QueueState*> queues = objects_.all_queues();
  write_pairs(queues, now.monotonic_ns, pairs);
  for (QueueState* queue : queues)
    if (queue->released.load(std::memory_order_acquire) &&
        queue->settled == queue->enqueued.load(std::memory_order_acquire))
      objects_.remove(queue);
  if (last != nullptr)
    record::add_interface(record::Interface::OpenCl, written, lost, base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

void Recorder::drain() noexcept {
  const std::lock_guard lock(drain_mutex_);
  drain_or_lose();
}

void Recorder::drain_if_free() noexcept {
  const std::unique_lock lock(drain_mutex_, std::try_to_lock);
  if (lock.owns_lock()) drain_or_lose();
}

void Recorder::drain_or_lose() noexcept {
  try {
    drain_locked(Pairs::IfDue);
  } catch (const std::bad_alloc&) {
    // What was taken is written or lost; the program goes on.
  }
}

bool Recorder::has_pending() const {
  for (const QueueState* queue : objects_.all_queues())
    if (queue->settled != queue->enqueued.load(std::memory_order_seq_cst)) return true;
  return false;
}

void Recorder::write_off_pending() {
  recording_.fetch_add(1, std::memory_order_relaxed);
  for (QueueState* queue : objects_.all_queues()) {
    const uint64_t pending = queue->enqueued.load(std::memory_order_relaxed) - queue->settled;
    const uint64_t lost = between(queue->written_off, pending);
    queue->track.lost(lost);
    record::add_interface(record::Interface::OpenCl, 0, lost, 0);
    queue->written_off = pending;
  }
}

void Recorder::flush(uint64_t quiet_ns) noexcept {
  if (is_closed()) quiet_ns = 0;
  const std::lock_guard lock(drain_mutex_);
  try {
    const auto settled = [&] {
      uint64_t count = 0;
      for (const QueueState* queue : objects_.all_queues()) count += queue->settled;
      return count;
    };
    const uint64_t began = base::monotonic_ns();
    uint64_t last_progress = began;
    for (uint64_t before = settled();;) {
      drain_locked(Pairs::IfDue);
      const uint64_t now = base::monotonic_ns(), after = settled();
      if (std::exchange(before, after) != after) last_progress = now;
      if (!has_pending() || now - last_progress >= quiet_ns || now - began >= kLongestFlush) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    drain_locked(Pairs::Now);
    write_off_pending();
    record::set_pending(record::Interface::OpenCl, false);
  } catch (const std::bad_alloc&) {
    // As in drain.
  }
}

void Recorder::wake() noexcept {
  {
    const std::lock_guard lock(wake_mutex_);
    if (!std::exchange(started_, true)) start_thread();
    awake_.store(true, std::memory_order_seq_cst);
    record::set_pending(record::Interface::OpenCl, true);
  }
  wake_.notify_one();
}

void Recorder::look_soon() noexcept {
  {
    const std::lock_guard lock(wake_mutex_);
    if (!started_) return;
    awake_.store(true, std::memory_order_seq_cst);
  }
  wake_.notify_one();
}

void Recorder::start_thread() noexcept {
  kymo_on_flush(flush_at_end, nullptr);
  atexit(flush_at_exit);
  try {
    base::quiet_thread("kymo-opencl", [this] { run(); }).detach();
  } catch (const std::system_error&) {
    // No thread could be started: the end of the session writes the commands.
  }
}

void Recorder::run() noexcept {
  while (true) {
    {
      std::unique_lock lock(wake_mutex_);
      wake_.wait(lock, [&] { return awake_.load(); });
    }
    std::this_thread::sleep_for(kLookEvery);
    drain();
    const std::lock_guard lock(drain_mutex_);
    if (has_pending()) continue;
    record::set_pending(record::Interface::OpenCl, false);
    awake_.store(false, std::memory_order_seq_cst);
    if (!has_pending()) continue;
    awake_.store(true);  // a command that was added in between
    record::set_pending(record::Interface::OpenCl, true);
  }
}

}  // namespace kymo::inject::opencl
