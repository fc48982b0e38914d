#include "inject/vulkan/recorder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "inject/adapter.h"
#include "kymo/queue.h"
#include "record/interfaces.h"

namespace kymo::inject::vulkan {
namespace {

constexpr size_t kMaxOpen = 256;  // labels of a program that never ends them

// Readers do not count this category as work: it is around work.
constexpr const char* kAroundWork = "device range";
constinit Site timed_buffer(Label("command buffer", kAroundWork));
// One that was recorded while nothing recorded: what is in it is not known.
constinit Site unknown_buffer(Label("command buffer", "kernel"));

void write_label(QueueState& queue, const std::string& text, uint64_t start, uint64_t end, uint64_t correlation) {
  const std::string name = plain_name(text);
  queue.track.span(Label(name, kAroundWork), start, std::max(start, end), correlation);
}

struct Written {
  uint64_t spans = 0;
  uint64_t start = 0, end = 0;  // of the command buffer, in ticks
};

// Turns the times of one submitted command buffer into ranges on the track of its queue.
class SpanWriter {
 public:
  SpanWriter(QueueState& queue, const Pending& pending) : queue_(queue), slot_(*pending.slot), pending_(pending) {}

  Written write() {
    Written written{0, time(0), time(1)};
    if (written.end < written.start) written.end = written.start;
    last_ = written.start;
    if (pending_.commands == nullptr) {
      queue_.track.span(unknown_buffer, written.start, written.end, pending_.correlation);
      spans_ = 1;
    } else {
      walk(*pending_.commands, TimesSlot::kOwnTimes);
      // Passes end in their command buffer. One that does not is a fault of the program.
      while (!passes_.empty()) end_pass(written.end);
      const auto commands = kymo::arg("commands", pending_.commands->command_count());
      if (pending_.text.empty()) {
        queue_.track.span(timed_buffer, written.start, written.end, pending_.correlation, commands);
      } else {
        const std::string name = "command buffer " + plain_name(pending_.text);
        queue_.track.span(Label(name, kAroundWork), written.start, written.end, pending_.correlation, commands);
      }
      ++spans_;
    }
    written.spans = spans_;
    return written;
  }

 private:
  struct OpenPass {
    const Step* step;
    uint64_t start;
  };

  // Masked: a driver may leave other bits in a counter of fewer.
  uint64_t time(uint32_t index) const {
    const uint64_t ticks = slot_.time(index);
    return queue_.timestamp_bits >= 64 ? ticks : ticks & ((uint64_t{1} << queue_.timestamp_bits) - 1);
  }
  uint64_t time_of(uint32_t query, uint32_t first) {
    if (query != Step::kNoQuery) last_ = time(first + query);
    return last_;
  }

  void work(const Step& step, uint64_t start, uint64_t end) {
    QueueTrack& track = queue_.track;
    const uint64_t correlation = pending_.correlation;
    const auto& sizes = step.sizes;
    switch (step.form) {
      case Form::Groups:
        track.span(*step.site, start, end, correlation, kymo::arg("groups_x", sizes[0]),
                   kymo::arg("groups_y", sizes[1]), kymo::arg("groups_z", sizes[2]));
        break;
      case Form::Draws:
        track.span(*step.site, start, end, correlation, kymo::arg("vertices", sizes[0]),
                   kymo::arg("instances", sizes[1]), kymo::arg("draws", sizes[2]));
        break;
      case Form::Bytes: {
        const double ns = static_cast<double>(end - start) * queue_.device->period_ns;
        track.span(*step.site, start, end, correlation, kymo::bytes("bytes", sizes[0]),
                   kymo::arg("GB_per_s", ns > 0 ? static_cast<double>(sizes[0]) / ns : 0.0));
        break;
      }
      case Form::Texels:
        track.span(*step.site, start, end, correlation, kymo::arg("texels", sizes[0]));
        break;
      case Form::Plain:
        track.span(*step.site, start, end, correlation);
    }
    ++spans_;
  }

  void end_pass(uint64_t end) {
    const OpenPass pass = passes_.back();
    passes_.pop_back();
    queue_.track.span(*pass.step->site, pass.start, std::max(end, pass.start), pending_.correlation);
    ++spans_;
  }

  void end_label(uint64_t end) {
    if (queue_.open.empty()) return;  // it began before the recording
    const QueueState::Open label = std::move(queue_.open.back());
    queue_.open.pop_back();
    write_label(queue_, label.text, label.start, end, pending_.correlation);
    ++spans_;
  }

  // `first`: where the times of these commands begin. Returns where those of the next ones do.
  uint32_t walk(const RecordedCommands& commands, uint32_t first) {
    uint32_t secondary = first + commands.query_count();
    for (const Step& step : commands.steps()) {
      switch (step.kind) {
        case Step::Kind::Work: {
          if (step.begin == Step::kNoQuery || step.end == Step::kNoQuery) break;
          const uint64_t start = time_of(step.begin, first);
          work(step, start, std::max(start, time_of(step.end, first)));
          break;
        }
        case Step::Kind::BeginPass:
          passes_.push_back({&step, time_of(step.begin, first)});
          break;
        case Step::Kind::EndPass:
          if (!passes_.empty()) end_pass(time_of(step.begin, first));
          break;
        case Step::Kind::BeginLabel:
          if (queue_.open.size() < kMaxOpen)
            queue_.open.push_back({commands.text(step), time_of(step.begin, first), true});
          break;
        case Step::Kind::EndLabel:
          end_label(time_of(step.begin, first));
          break;
        case Step::Kind::Mark: {
          const uint64_t at = time_of(step.begin, first);
          write_label(queue_, commands.text(step), at, at, pending_.correlation);
          ++spans_;
          break;
        }
        case Step::Kind::Execute:
          secondary = walk(commands.secondary(step), secondary);
          break;
      }
    }
    return secondary;
  }

  QueueState& queue_;
  const TimesSlot& slot_;
  const Pending& pending_;
  std::vector<OpenPass> passes_;
  uint64_t last_ = 0, spans_ = 0;
};

// The slot has its times. Labels that the command buffer leaves open stay in queue.open.
Written write_commands(QueueState& queue, const Pending& pending) {
  const Written written = SpanWriter(queue, pending).write();
  for (QueueState::Open& label : queue.labels)
    if (!std::exchange(label.has_start, true)) label.start = written.start;
  queue.last_end = written.end;
  queue.has_last_end = true;
  return written;
}

// Labels of the queue: around all work that was submitted between their begin and their end.
void begin_queue_label(QueueState& queue, const std::string& text) {
  if (queue.labels.size() < kMaxOpen) queue.labels.push_back({text, 0, false});
}

// True: written.
bool end_queue_label(QueueState& queue) {
  if (queue.labels.empty()) return false;
  const QueueState::Open label = std::move(queue.labels.back());
  queue.labels.pop_back();
  if (!label.has_start) return false;  // nothing ran in it
  write_label(queue, label.text, label.start, queue.last_end, 0);
  return true;
}

constexpr uint64_t kSmallestDeviation = 1;  // ns: an error of 0 would mean that there is no pair

// The driver reads both clocks.
std::optional<base::ClockPair> calibrated_pair(DeviceState& device) noexcept {
  if (!device.is_calibrated || device.is_lost.load(std::memory_order_relaxed)) return std::nullopt;
  std::array<VkCalibratedTimestampInfoEXT, 2> wanted;
  wanted.fill(made<VkCalibratedTimestampInfoEXT>(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT));
  wanted[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
  wanted[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
  std::array<uint64_t, 2> times{};
  uint64_t deviation = 0;
  if (device.next.GetCalibratedTimestampsEXT(device.handle, wanted.size(), wanted.data(), times.data(), &deviation) !=
      VK_SUCCESS)
    return std::nullopt;
  return base::ClockPair{times[0], times[1], 0, std::max(deviation, kSmallestDeviation)};
}

void open_track(QueueState& queue) {
  DeviceState& device = *queue.device;
  std::string name = device.name_of(VK_OBJECT_TYPE_QUEUE, number_of(queue.handle));
  if (name.empty()) name = base::format("Vulkan queue {}.{}", queue.family, queue.index);
  kymo_queue_info info{};
  info.name = name.c_str();
  info.device_uuid = device.uuid.c_str();
  info.device_name = device.name.c_str();
  info.context = device.number + 1;
  info.queue = uint64_t{queue.family} << 32 | queue.index;
  info.clock = base::hash(base::as_bytes("Vulkan layer")) + device.number;  // not the clock of Kymo's own runtime
  // The period is a float. As a ratio it needs no more than its 24 digits.
  constexpr uint64_t kOne = uint64_t{1} << 32;
  info.period_numerator = static_cast<uint64_t>(std::llround(device.period_ns * static_cast<double>(kOne)));
  info.period_denominator = kOne;
  if (device.period_ns == std::floor(device.period_ns)) {
    info.period_numerator = static_cast<uint64_t>(device.period_ns);
    info.period_denominator = 1;
  }
  info.wrap_bits = queue.timestamp_bits;
  queue.track = QueueTrack(info);
  queue.has_track = true;
}

std::vector<QueueState*> queues_of(DeviceState& device) {
  const std::lock_guard lock(device.mutex);
  std::vector<QueueState*> all;
  for (const auto& queue : device.queues) all.push_back(queue.get());
  return all;
}

}  // namespace

void Recorder::add(DeviceState& device) {
  const std::lock_guard lock(mutex_);
  devices_.push_back(&device);
}

bool Recorder::is_elsewhere(const RecordedCommands& commands, const QueueState& queue) noexcept {
  const std::lock_guard lock(mutex_);
  return commands.pending != 0 && commands.queue != &queue;
}

void Recorder::add(QueueState& queue, Pending&& pending) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (pending.commands != nullptr) {
      ++pending.commands->pending;
      pending.commands->queue = &queue;
    }
    try {
      queue.pending.push_back(std::move(pending));
      ++queue.added;
    } catch (const std::bad_alloc&) {  // its slot is not used again
    }
  }
  wake_if_asleep();
}

void Recorder::lose(QueueState& queue, uint64_t count) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (!queue.has_track) open_track(queue);
    queue.track.lost(count);
  } catch (const std::bad_alloc&) {  // counted below at least
  }
  record::add_interface(kInterface, 0, count, 0);
}

bool Recorder::drain(QueueState& queue) {
  DeviceState& device = *queue.device;
  uint64_t spans = 0;
  bool progress = false;
  while (!queue.pending.empty()) {
    Pending& pending = queue.pending.front();
    const bool is_current = pending.recording == recording();
    if (pending.kind == Pending::Kind::Commands && !pending.slot->has_times()) break;
    if (!queue.has_track) open_track(queue);
    switch (pending.kind) {
      case Pending::Kind::Commands: {
        if (is_current) {
          const Written written = write_commands(queue, pending);
          spans += written.spans;
          const uint64_t now = base::monotonic_ns();
          if (device.first_work_ns == 0) device.first_work_ns = now;
          // The device began after the call, and ended before it was seen.
          device.clock.add({pending.began_ns, now, now, device.ns_of(written.start), device.ns_of(written.start),
                            device.ns_of(written.end), 1'000});
          device.last_start_ticks = std::max(device.last_start_ticks, written.start);
        }
        if (pending.commands != nullptr) --pending.commands->pending;
        pending.slot->is_written.store(true, std::memory_order_release);
        break;
      }
      case Pending::Kind::BeginLabel:
        if (is_current) begin_queue_label(queue, pending.text);
        break;
      case Pending::Kind::EndLabel:
        if (end_queue_label(queue)) ++spans;
        break;
      case Pending::Kind::Mark:
        break;
    }
    queue.pending.pop_front();
    progress = true;
  }
  if (spans != 0) record::add_interface(kInterface, spans, 0, 0);
  return progress;
}

void Recorder::write_pairs(DeviceState& device, bool now) {
  const uint64_t moment = base::monotonic_ns();
  const bool is_first = device.last_pair.error_ns == 0;
  const uint64_t since = moment - (is_first ? device.first_work_ns : device.last_pair_ns);
  bool is_new = false;
  if (device.first_work_ns != 0 && !is_closed() &&
      (is_first || since >= kPairEvery || (now && since >= kFirstPairAfter))) {
    auto pair = calibrated_pair(device);
    if (!pair && (device.clock.is_exact() || now || since >= kFirstPairAfter)) {
      pair = device.clock.take_pair({}, std::nullopt);
      if (pair) pair->ticks = device.last_start_ticks;
    }
    if (pair) {
      pair->realtime_ns = pair->monotonic_ns + base::realtime_offset().ns;
      device.last_pair = *pair;
      device.last_pair_ns = moment;
      is_new = true;
    }
  }
  if (device.last_pair.error_ns == 0) return;
  const std::lock_guard lock(device.mutex);
  for (const auto& queue : device.queues) {
    if (!queue->has_track || (!is_new && queue->has_pair)) continue;
    const uint64_t mask = queue->timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << queue->timestamp_bits) - 1;
    queue->track.clock_pair(device.last_pair.ticks & mask, device.last_pair.monotonic_ns, device.last_pair.realtime_ns,
                            device.last_pair.error_ns);
    queue->has_pair = true;
  }
}

void Recorder::drain(bool pairs_now) {
  const uint64_t began = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  bool progress = false;
  for (DeviceState* device : devices_) {
    for (QueueState* queue : queues_of(*device)) {
      progress |= drain(*queue);
      if (device->is_lost.load(std::memory_order_relaxed)) write_off(*queue);
    }
    write_pairs(*device, pairs_now);
  }
  if (progress) record::add_interface(kInterface, 0, 0, base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

// Their slots may be written by the device still, so they stay pending, for no recording.
void Recorder::write_off(QueueState& queue) {
  uint64_t lost = 0;
  for (Pending& pending : queue.pending) {
    if (pending.kind == Pending::Kind::Commands && pending.recording == recording()) ++lost;
    pending.recording = 0;
  }
  queue.open.clear();
  queue.labels.clear();
  if (lost == 0) return;
  if (!queue.has_track) open_track(queue);
  queue.track.lost(lost);
  record::add_interface(kInterface, 0, lost, 0);
}

bool Recorder::has_pending() const {
  for (DeviceState* device : devices_) {
    if (device->is_lost.load(std::memory_order_relaxed)) continue;
    for (const QueueState* queue : queues_of(*device))
      if (!queue->pending.empty()) return true;
  }
  return false;
}

void Recorder::flush(uint64_t quiet_ns) noexcept {
  if (is_closed()) quiet_ns = 0;
  std::unique_lock lock(mutex_);
  try {
    // What the program submits meanwhile belongs to this recording too, but is not waited for.
    for (DeviceState* device : devices_)
      for (QueueState* queue : queues_of(*device)) queue->wanted = queue->added;
    const auto missing = [&] {
      uint64_t count = 0;
      for (DeviceState* device : devices_) {
        if (device->is_lost.load(std::memory_order_relaxed)) continue;
        for (const QueueState* queue : queues_of(*device))
          if (const uint64_t settled = queue->added - queue->pending.size(); settled < queue->wanted)
            count += queue->wanted - settled;
      }
      return count;
    };
    drain_while_some_completes(
        lock, quiet_ns, [&] { drain(false); }, missing, [&] { return missing() == 0; });
    drain(true);
    for (DeviceState* device : devices_)
      for (QueueState* queue : queues_of(*device)) write_off(*queue);
    recording_.fetch_add(1, std::memory_order_relaxed);
    record::set_pending(kInterface, false);
  } catch (const std::bad_alloc&) {
    // What was taken is written or lost; the program goes on.
  }
}

bool Recorder::remove(DeviceState& device) noexcept {
  bool is_idle = true;
  const std::lock_guard lock(mutex_);
  try {
    const uint64_t began = base::monotonic_ns();
    const std::vector<QueueState*> queues = queues_of(device);
    const auto is_done = [](const QueueState* queue) { return queue->pending.empty(); };
    while (true) {
      for (QueueState* queue : queues) drain(*queue);
      is_idle = std::ranges::all_of(queues, is_done);
      if (is_idle || device.is_lost.load() || base::monotonic_ns() - began >= kQuietAtEnd) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    write_pairs(device, true);
    for (QueueState* queue : queues) write_off(*queue);
  } catch (const std::bad_alloc&) {
    is_idle = false;
  }
  std::erase(devices_, &device);
  return is_idle;
}

}  // namespace kymo::inject::vulkan
