#include "inject/opencl/recorder.h"

#include <time.h>

#include <algorithm>
#include <cctype>
#include <new>

#include "base/clock_map.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/text.h"
#include "kymo/queue.h"

namespace kymo::inject::opencl {
namespace {

constexpr size_t kMaxText = 64 << 10;  // a longer text of a driver is not plausible
constexpr cl_uint kMaxDevices = 1024;

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back()))))
    text.pop_back();
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

// A text of an object. `ask` is one of clGet…Info.
template <class Ask, class Object, class What>
std::string text_of(Ask ask, Object object, What what) {
  size_t size = 0;
  if (ask == nullptr || ask(object, what, 0, nullptr, &size) != CL_SUCCESS || size == 0 || size > kMaxText) return {};
  std::string text(size, '\0');
  if (ask(object, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return trimmed(std::move(text));
}

bool has_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// Its place among the devices of its platform.
int index_in_platform(cl_platform_id platform, cl_device_id device) {
  cl_uint count = 0;
  if (target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS || count > kMaxDevices)
    return 0;
  std::vector<cl_device_id> ids(count);
  if (target.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) return 0;
  const auto at = std::find(ids.begin(), ids.end(), device);
  return at != ids.end() ? static_cast<int>(at - ids.begin()) : 0;
}

std::unique_ptr<DeviceState> describe(cl_device_id id) {
  auto state = std::make_unique<DeviceState>();
  state->id = id;
  state->platform = ask<cl_platform_id>(target.clGetDeviceInfo, id, CL_DEVICE_PLATFORM);
  state->is_cpu = (ask<cl_device_type>(target.clGetDeviceInfo, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  state->name = text_of(target.clGetDeviceInfo, id, CL_DEVICE_NAME);
  cl_uchar uuid[CL_UUID_SIZE_KHR];
  if (has_word(text_of(target.clGetDeviceInfo, id, CL_DEVICE_EXTENSIONS), "cl_khr_device_uuid") &&
      target.clGetDeviceInfo(id, CL_DEVICE_UUID_KHR, sizeof uuid, uuid, nullptr) == CL_SUCCESS) {
    state->uuid = base::hex(uuid);
  } else {
    state->uuid = base::opencl_device_uuid(text_of(target.clGetPlatformInfo, state->platform, CL_PLATFORM_NAME),
                                           text_of(target.clGetDeviceInfo, id, CL_DEVICE_VENDOR), state->name,
                                           index_in_platform(state->platform, id));
  }
  return state;
}

}  // namespace

DeviceState* Objects::device(cl_device_id id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = devices_.find(id); known != devices_.end()) return known->second.get();
  }
  auto described = describe(id);  // without the lock: it calls the driver
  const std::lock_guard lock(mutex_);
  auto& place = devices_[id];
  if (place == nullptr) {
    place = std::move(described);
    place->number = devices_.size() - 1;
  }
  return place.get();
}

DeviceState* Objects::device_of(cl_context context) {
  if (is_excluded(context)) return nullptr;
  size_t size = 0;
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &size) != CL_SUCCESS ||
      size < sizeof(cl_device_id) || size > kMaxDevices * sizeof(cl_device_id))
    return nullptr;
  std::vector<cl_device_id> ids(size / sizeof(cl_device_id));
  if (target.clGetContextInfo(context, CL_CONTEXT_DEVICES, ids.size() * sizeof(cl_device_id), ids.data(), nullptr) !=
      CL_SUCCESS)
    return nullptr;
  return device(ids.front());
}

KernelState* Objects::kernel(cl_kernel handle) {
  if (KernelState* known = kernels_.find(handle)) return known;
  add_kernel(handle, text_of(target.clGetKernelInfo, handle, CL_KERNEL_FUNCTION_NAME));
  return kernels_.find(handle);
}

void Objects::add_kernel(cl_kernel handle, std::string_view name) {
  if (name.empty()) name = "kernel";
  KernelState* state = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, std::make_unique<KernelState>(name)).first;
    state = found->second.get();
  }
  kernels_.put(handle, state);
}

void Objects::add_queue(cl_command_queue handle, std::unique_ptr<QueueState> state) {
  const DeviceState& device = *state->device;
  const auto properties = ask<cl_command_queue_properties>(target.clGetCommandQueueInfo, handle, CL_QUEUE_PROPERTIES);
  const auto context = ask<cl_context>(target.clGetCommandQueueInfo, handle, CL_QUEUE_CONTEXT);
  const std::lock_guard lock(mutex_);
  const uint64_t number = queue_count_++;
  const std::string name = base::format(
      "OpenCL queue {}{}", number, (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0 ? " (out of order)" : "");
  kymo_queue_info info{};
  info.name = name.c_str();
  info.device_uuid = device.uuid.c_str();
  info.device_name = device.name.c_str();
  info.context = contexts_[context];
  info.queue = number;
  info.clock = base::hash(base::as_bytes("OpenCL layer")) + device.number;  // not the clock of Kymo's own runtime
  info.period_numerator = info.period_denominator = 1;                      // OpenCL's profiling times are nanoseconds
  state->track = QueueTrack(info);
  QueueState* added = state.get();
  owned_queues_.push_back(std::move(state));
  queues_.put(handle, added);
}

void Objects::release_queue(cl_command_queue handle) noexcept {
  if (QueueState* state = queues_.take(handle)) state->released.store(true, std::memory_order_release);
}

std::vector<QueueState*> Objects::all_queues() const {
  const std::lock_guard lock(mutex_);
  std::vector<QueueState*> queues;
  queues.reserve(owned_queues_.size());
  for (const auto& queue : owned_queues_) queues.push_back(queue.get());
  return queues;
}

void Objects::remove(QueueState* queue) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(owned_queues_, [queue](const auto& owned) { return owned.get() == queue; });
}

// A new context may have the address of an old one.
void Objects::add_context(cl_context context) {
  if (context == nullptr) return;
  excluded_.take(context);
  const std::lock_guard lock(mutex_);
  contexts_[context] = ++context_count_;
}

void Objects::exclude(cl_context context) { excluded_.put(context, this); }

namespace {

constexpr uint64_t kCommandsBetweenLooks = 256;
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

}  // namespace

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
  const uint64_t before = queue.enqueued.fetch_add(1, std::memory_order_seq_cst);
  wake_if_asleep();
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
    record::add_interface(kInterface, written, lost, base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

void Recorder::drain() noexcept {
  const std::lock_guard lock(mutex_);
  look();
}

void Recorder::drain_if_free() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) look();
}

void Recorder::look() noexcept {
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
    record::add_interface(kInterface, 0, lost, 0);
    queue->written_off = pending;
  }
}

void Recorder::flush(uint64_t quiet_ns) noexcept {
  if (is_closed()) quiet_ns = 0;
  std::unique_lock lock(mutex_);
  try {
    const auto settled = [&] {
      uint64_t count = 0;
      for (const QueueState* queue : objects_.all_queues()) count += queue->settled;
      return count;
    };
    drain_while_some_completes(
        lock, quiet_ns, [&] { drain_locked(Pairs::IfDue); }, settled, [&] { return !has_pending(); });
    drain_locked(Pairs::Now);
    write_off_pending();
    record::set_pending(kInterface, false);
  } catch (const std::bad_alloc&) {
    // As in look.
  }
}

}  // namespace kymo::inject::opencl
