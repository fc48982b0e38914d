#include "device/queue_recorder.h"

#include <time.h>

#include <utility>

#include "device/device_state.h"
#include "device/harvester.h"
#include "kymo/annotate.h"

namespace kymo::device {
namespace {

constexpr size_t kOperationsBetweenLooks = 64;
constexpr uint64_t kClockEvery = 1'000'000'000;

std::string_view span_name(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::Kernel:
      return operation.name;
    case OperationKind::CopyHostToDevice:
      return "copy host to device";
    case OperationKind::CopyDeviceToHost:
      return "copy device to host";
    case OperationKind::CopyOnDevice:
      return "copy on device";
    case OperationKind::Fill:
      return "fill";
  }
  return "";
}

std::string_view span_category(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::Kernel:
      return "kernel";
    case OperationKind::Fill:
      return "fill";
    default:
      return "copy";
  }
}

std::string_view call_name(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::Kernel:
      return "launch {}";
    case OperationKind::Fill:
      return "queue fill";
    default:
      return "queue copy";
  }
}

}  // namespace

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

QueueRecorder::QueueRecorder(DeviceState& device, StreamId stream) : device_(device), stream_(stream) {}

void QueueRecorder::open() {
  const DeviceInfo& info = device_.info();
  const std::string name = device_.name() + (stream_ == 0 ? " default stream" : " stream " + std::to_string(stream_));
  kymo_queue_info queue{};
  queue.name = name.c_str();
  queue.device_uuid = info.uuid.c_str();
  queue.queue = stream_;
  queue.clock = std::hash<std::string>{}(device_.name()) + device_.generation();
  queue.period_numerator = info.tick_numerator;
  queue.period_denominator = info.tick_denominator;
  queue.wrap_bits = info.clock_bits;
  track_ = QueueTrack(queue);
}

void QueueRecorder::end(const Call& call, const Operation& operation, Ticket ticket, Queue& queue) {
  const Label label(call_name(operation), "device");
  const kymo_arg arg = operation.kind == OperationKind::Kernel ? kymo::detail::to_arg(operation.name)
                                                               : kymo::bytes("bytes", operation.bytes);
  kymo_span(&label, &arg, 1, call.began, call.correlation);
  if (track_.get() == nullptr) open();
  Pending pending;
  pending.operation = operation;
  pending.correlation = call.correlation;
  pending.ticket = ticket;
  add(pending);
  if (pending_.size() % kOperationsBetweenLooks == 0) harvest(queue);
}

void QueueRecorder::add(Pending pending) {
  pending.generation = device_.generation();
  pending_.push_back(pending);
  ++queued_;
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // either we see that nobody looks, or who looks sees this
  watch_pending_work();
}

void QueueRecorder::add_boundary(std::string_view name, uint64_t handle, Marker* marker, bool is_begin) {
  if (track_.get() == nullptr) open();
  Pending boundary;
  boundary.operation.name = name;
  boundary.correlation = handle;
  boundary.marker = marker;
  boundary.is_begin = is_begin;
  add(boundary);
}

// The clock is read once a second while there is work: pairs further apart would let its drift show.
void QueueRecorder::note_clock() {
  const uint64_t now = now_ns();
  if (clock_noted_ns_ != 0 && now - clock_noted_ns_ < kClockEvery) return;
  const ClockReading reading = device_.accelerator().read_clock();
  track_.clock_pair(reading.ticks, reading.monotonic_ns, reading.realtime_ns, reading.error_ns);
  clock_noted_ns_ = now;
}

void QueueRecorder::write(const Pending& pending, const Timing& timing) {
  const Operation& operation = pending.operation;
  const Label label(span_name(operation), span_category(operation));
  const DeviceInfo& info = device_.info();
  const double ns = static_cast<double>(timing.end - timing.start) * static_cast<double>(info.tick_numerator) /
                    static_cast<double>(info.tick_denominator);
  const double rate = ns > 0 ? static_cast<double>(operation.bytes) / ns : 0;  // bytes a nanosecond: GB/s
  if (operation.kind == OperationKind::Kernel) {
    const Extent &threads = operation.threads, &group = operation.group;
    track_.span(label, timing.start, timing.end, pending.correlation, kymo::arg("threads_x", threads.x),
                kymo::arg("threads_y", threads.y), kymo::arg("threads_z", threads.z), kymo::arg("group_x", group.x),
                kymo::arg("group_y", group.y), kymo::arg("group_z", group.z),
                kymo::bytes("tensor_bytes", operation.bytes), kymo::arg("tensor_GB_per_s", rate));
  } else {
    track_.span(label, timing.start, timing.end, pending.correlation, kymo::bytes("bytes", operation.bytes),
                kymo::arg("GB_per_s", rate));
  }
}

bool QueueRecorder::settle(const Pending& pending, Queue& queue) {
  if (pending.marker == nullptr) {
    Timing timing;
    switch (queue.redeem(pending.ticket, timing)) {
      case Redeemed::Pending:
        return false;
      case Redeemed::Done:
        if (!pending.discarded) write(pending, timing);
        break;
      case Redeemed::Lost:
        if (!pending.discarded) track_.lost(1);
        break;
    }
    return true;
  }
  if (!pending.marker->reached()) return false;
  if (const auto time = pending.marker->time(); pending.discarded) {
    // counted already
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
  while (!pending_.empty() && settle(pending_.front(), queue)) pop();
}

void QueueRecorder::discard_pending() {
  uint64_t lost = 0;
  for (Pending& pending : pending_) lost += std::exchange(pending.discarded, true) ? 0 : 1;
  if (lost != 0) track_.lost(lost);
}

void QueueRecorder::forget() {
  discard_pending();
  pending_.clear();
  pending_count_.store(0, std::memory_order_relaxed);
  track_ = QueueTrack();
  clock_noted_ns_ = 0;
}

}  // namespace kymo::device
