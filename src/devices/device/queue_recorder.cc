#include "device/queue_recorder.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "device/device_state.h"
#include "device/devices.h"
#include "device/stream_state.h"

namespace kymo::device {
namespace {

constexpr size_t kOperationsBetweenLooks = 256;
constexpr uint64_t kClockEvery = 1'000'000'000;

// The trace sites of an operation's execution and of the call that queued it. They are constants, so that each is
// looked up only once.
struct Sites {
  Site execution, call;
};

Sites& sites_of(OperationKind kind) {
  static constinit Sites kernel{Site("kernel"), Site(Label("launch {}", "device"))};
  static constinit Sites to_device{Site(Label("copy host to device", "copy")), Site(Label("queue copy", "device"))};
  static constinit Sites to_host{Site(Label("copy device to host", "copy")), Site(Label("queue copy", "device"))};
  static constinit Sites on_device{Site(Label("copy on device", "copy")), Site(Label("queue copy", "device"))};
  static constinit Sites fill{Site(Label("fill", "fill")), Site(Label("queue fill", "device"))};
  switch (kind) {
    case OperationKind::CopyHostToDevice:
      return to_device;
    case OperationKind::CopyDeviceToHost:
      return to_host;
    case OperationKind::CopyOnDevice:
      return on_device;
    case OperationKind::Fill:
      return fill;
    default:
      return kernel;
  }
}

base::ClockPair host_clock_now() {
  const uint64_t ns = base::monotonic_ns();
  return {kymo_ticks(), ns, 0, 0};
}

}  // namespace

QueueRecorder::QueueRecorder(DeviceState& device, StreamState& stream) : device_(device), stream_(stream) {}

void QueueRecorder::open() {
  const DeviceInfo& info = device_.info();
  const StreamId stream = stream_.id();
  const std::string name = device_.name() + (stream == 0 ? " default stream" : " stream " + std::to_string(stream));
  kymo_queue_info queue{};
  queue.name = name.c_str();
  queue.device_uuid = info.uuid.c_str();
  queue.device_name = info.name.c_str();
  queue.queue = stream;
  queue.clock = std::hash<std::string>{}(device_.name()) + device_.generation();
  queue.period_numerator = info.tick_numerator;
  queue.period_denominator = info.tick_denominator;
  queue.wrap_bits = info.clock_bits;
  track_ = QueueTrack(queue);
  opened_ = host_clock_now();
}

QueueRecorder::Call QueueRecorder::begin(const Operation& operation) noexcept {
  Call call;
  call.recorded = kymo::detail::recording();
  if (call.recorded) call.correlation = kymo_next_correlation();
  for (size_t i = 0; i < kWatcherRoles; ++i) {
    Watcher* watcher = device::watcher(static_cast<WatcherRole>(i));
    if (watcher == nullptr) continue;
    call.watchers[i] = {watcher, watcher->queued(stream_, operation)};
    call.waits |= watcher->waits();
    call.watched = true;
  }
  call.began = kymo_ticks();
  return call;
}

void QueueRecorder::end(const Call& call, const Operation& operation, Ticket ticket, Queue& queue) {
  if (call.recorded) {
    const kymo_arg arg = operation.kind == OperationKind::Kernel ? kymo::detail::to_arg(operation.name)
                                                                 : kymo::bytes("bytes", operation.bytes);
    kymo_span_at(&sites_of(operation.kind).call, &arg, 1, call.began, call.correlation);
  }
  if (track_.get() == nullptr) open();
  Pending& pending = add();
  pending.operation = operation;
  pending.watchers = call.watchers;
  pending.call_ticks = call.watched ? kymo_ticks() - call.began : 0;
  pending.correlation = call.correlation;
  pending.ticket = ticket;
  pending.recorded = call.recorded;
  pending.watched = call.watched;
  watch_what_was_added();
  if (pending_.size() % kOperationsBetweenLooks == 0) harvest(queue);
}

void QueueRecorder::abandon(const Call& call, const Operation& operation) noexcept {
  report_lost(call.watchers, operation);
}

// Sets the members that all operations have. The caller sets the others.
QueueRecorder::Pending& QueueRecorder::add() {
  Pending& pending = pending_.push_place();
  pending.marker = nullptr;
  pending.generation = device_.generation();
  pending.discarded = false;
  ++queued_;
  return pending;
}

void QueueRecorder::watch_what_was_added() {
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
  if (pending_.size() > 1) return;  // the harvester already knows of pending work
  // Either we see that the harvester sleeps, or it sees this operation.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  watch_pending_work();
}

void QueueRecorder::add_boundary(std::string_view name, uint64_t handle, Marker* marker, bool is_begin) {
  if (track_.get() == nullptr) open();
  Pending& boundary = add();
  boundary.operation = {};
  boundary.operation.name = name;
  boundary.watchers = {};
  boundary.correlation = handle;
  boundary.marker = marker;
  boundary.is_begin = is_begin;
  boundary.recorded = true;
  boundary.watched = false;
  watch_what_was_added();
}

// The clock is read once per second while there is work. With longer intervals its drift would be visible.
void QueueRecorder::note_clock() {
  const uint64_t now = base::monotonic_ns();
  if (clock_noted_ns_ != 0 && now - clock_noted_ns_ < kClockEvery) return;
  const base::ClockPair pair = device_.accelerator().read_clock();
  track_.clock_pair(pair.ticks, pair.monotonic_ns, pair.realtime_ns, pair.error_ns);
  const DeviceInfo& info = device_.info();
  device_clock_ = base::ClockMap({info.tick_numerator, info.tick_denominator, info.clock_bits}, {&pair, 1});
  clock_noted_ns_ = now;
}

// Uses all the time since the queue was opened, so the result becomes exact after a short time.
void QueueRecorder::measure_host_clock() {
  host_clock_ = base::ClockMap(base::Counter{}, std::array{opened_, host_clock_now()});
}

void QueueRecorder::write(const Pending& pending, const Timing& timing) {
  const OperationFacts& operation = pending.operation;
  Site& site = operation.site != nullptr ? *operation.site : sites_of(operation.kind).execution;
  const double ns = device_clock_.to_ns(device_clock_.ticks_between(timing.start, timing.end));
  const double rate = ns > 0 ? static_cast<double>(operation.bytes) / ns : 0;  // bytes per nanosecond: GB/s
  const Extent &threads = operation.threads, &group = operation.group;
  const bool is_kernel = operation.kind == OperationKind::Kernel, is_part = timing.operations > 1;
  const auto send = [&](const auto&... args) {
    if (!is_part) return track_.span(site, timing.start, timing.end, pending.correlation, args...);
    const Label label(std::string_view(site.label.name, site.label.name_length),
                      std::string_view(site.label.category, site.label.category_length));
    track_.span(label, timing.start, timing.end, pending.correlation, args...);
  };
  // No rate if it has only a part of the time of a submission.
  const kymo_arg last = is_part ? kymo::arg("operations_in_submission", timing.operations)
                                : kymo::arg(is_kernel ? "tensor_GB_per_s" : "GB_per_s", rate);
  if (!is_kernel) return send(kymo::bytes("bytes", operation.bytes), last);
  send(kymo::arg("threads_x", threads.x), kymo::arg("threads_y", threads.y), kymo::arg("threads_z", threads.z),
       kymo::arg("group_x", group.x), kymo::arg("group_y", group.y), kymo::arg("group_z", group.z),
       kymo::bytes("tensor_bytes", operation.bytes), last);
}

void QueueRecorder::report_completed(const Pending& pending, const Timing& timing) noexcept {
  if (!pending.watched) return;
  OperationTimes times;
  times.gpu_ns = device_clock_.duration_ns(device_clock_.ticks_between(timing.start, timing.end));
  times.start_ns = static_cast<uint64_t>(device_clock_.to_monotonic_ns(timing.start));
  times.end_ns = times.start_ns + times.gpu_ns;
  times.operations = timing.operations;
  times.call_ns = host_clock_.duration_ns(pending.call_ticks);
  const Operation operation{pending.operation, {}, nullptr, nullptr, nullptr};
  for (const Watched& watched : pending.watchers)
    if (watched.watcher != nullptr) watched.watcher->completed(stream_, operation, watched.execution, times);
}

void QueueRecorder::report_lost(const Watchers& watchers, const OperationFacts& facts) noexcept {
  const Operation operation{facts, {}, nullptr, nullptr, nullptr};
  for (const Watched& watched : watchers)
    if (watched.watcher != nullptr) watched.watcher->lost(stream_, operation, watched.execution);
}

bool QueueRecorder::settle(const Pending& pending, Queue& queue) {
  if (pending.marker == nullptr) {
    Timing timing;
    switch (queue.redeem(pending.ticket, timing)) {
      case Redeemed::Pending:
        return false;
      case Redeemed::Done:
        if (pending.discarded) break;
        if (pending.recorded) write(pending, timing);
        report_completed(pending, timing);
        break;
      case Redeemed::Lost:
        if (pending.discarded) break;
        if (pending.recorded) track_.lost(1);
        report_lost(pending.watchers, pending.operation);
        break;
    }
    return true;
  }
  if (!pending.marker->reached()) return false;
  if (const auto time = pending.marker->time(); pending.discarded) {
    // already counted
  } else if (!time) {
    track_.lost(1);
  } else if (pending.is_begin) {
    const Label label(pending.operation.name, "device range");
    kymo_queue_range_begin(track_.get(), &label, nullptr, 0, *time, pending.correlation);
  } else {
    kymo_queue_range_end(track_.get(), *time, pending.correlation);
  }
  device_.give_marker(pending.marker, true, pending.generation);
  return true;
}

void QueueRecorder::pop() {
  pending_.pop_front();
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
}

void QueueRecorder::harvest(Queue& queue) {
  if (pending_.empty()) return;
  note_clock();
  measure_host_clock();
  while (!pending_.empty() && settle(pending_.front(), queue)) pop();
}

void QueueRecorder::discard_pending() {
  uint64_t lost = 0;
  for (size_t i = 0; i < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (std::exchange(pending.discarded, true)) continue;
    lost += pending.recorded ? 1 : 0;
    report_lost(pending.watchers, pending.operation);
  }
  if (lost != 0) track_.lost(lost);
}

void QueueRecorder::forget() {
  discard_pending();
  pending_.clear();
  pending_count_.store(0, std::memory_order_relaxed);
  track_ = QueueTrack();
  clock_noted_ns_ = 0;
}

// ---- Texts that stay valid -----------------------------------------------------------------------------------------

std::string_view keep_name(std::string_view name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return *found;
}

Site& keep_kernel_site(std::string_view name) {
  static std::mutex mutex;
  static auto& sites = *new std::map<std::string, std::unique_ptr<Site>, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = sites.find(name);
  if (found == sites.end()) found = sites.emplace(name, std::make_unique<Site>(Label(keep_name(name), "kernel"))).first;
  return *found->second;
}

// ---- The thread that processes finished work -----------------------------------------------------------------------

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
