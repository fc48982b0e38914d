// Streams: queues of device work, each in order; and events, which are points in them.
//
//   kymo::device::Stream side;                    // another queue
//   kymo::device::Event begin{true}, end{true};   // with timing
//   begin.record(side);
//   { kymo::device::StreamGuard on(side);  lib["blur"](image); }
//   end.record(side);
//   double ms = begin.elapsed_time(end);
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "kymo/accelerator.h"
#include "kymo/annotate.h"

namespace kymo::device {

class StreamState;
class EventState;

// A queue of a device. A small value; two copies are the same queue. Work on one stream runs in order, work on two runs
// in no order unless an event says so.
class KYMO_API Stream {
 public:
  // Another queue than the default one, from the device's 32: they are handed out in turn.
  Stream() : Stream(Device::current()) {}
  explicit Stream(Device device);

  Device device() const;
  uint32_t id() const;       // 0: the default stream
  void synchronize() const;  // waits for what was queued so far
  bool query() const;        // has it all run?

  bool operator==(const Stream&) const = default;
  explicit Stream(StreamState& state) : state_(&state) {}
  StreamState& state() const { return *state_; }

 private:
  StreamState* state_;
};

KYMO_API Stream default_stream();
KYMO_API Stream default_stream(Device device);
// Where this thread's work goes: the default stream until set_stream says otherwise.
KYMO_API Stream current_stream();
KYMO_API Stream current_stream(Device device);
KYMO_API void set_stream(Stream stream);

// This thread's current stream, to the end of the scope.
class [[nodiscard]] StreamGuard {
 public:
  explicit StreamGuard(Stream stream) : before_(current_stream(stream.device())) { set_stream(stream); }
  ~StreamGuard() { set_stream(before_); }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream before_;
};

// A point in a stream. An event may be recorded again and again: it answers for the last time. Its place in the driver
// is recycled, and a recycled one never answers for the event that had it before.
class KYMO_API Event {
 public:
  explicit Event(bool enable_timing = false) : Event(enable_timing, Device::current()) {}
  Event(bool enable_timing, Device device);
  ~Event();
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;

  void record();  // after what the current stream has by now
  void record(Stream stream);
  void wait();  // what the current stream gets from now on waits for it, on the device; nothing if never recorded
  void wait(Stream stream);
  bool query() const;        // recorded, and reached
  void synchronize() const;  // blocks until it is reached; returns at once if it was never recorded
  // Milliseconds from this event to `end`; waits for both. Throws Error where either has no timing, was not recorded,
  // is of another device, or where `end` came first.
  double elapsed_time(const Event& end) const;

 private:
  std::unique_ptr<EventState> state_;
};

}  // namespace kymo::device

namespace kymo {

// A range on a stream: from when all work queued so far has completed, to when all work queued by its end has. The
// stream is not stalled: the device takes the times. Recorded only while something records.
enum class DeviceRange : uint64_t {};  // 0: not recorded
KYMO_API DeviceRange device_range_start(std::string_view name, device::Stream stream = device::current_stream());
// An unknown or ended range is counted while recording, as range_end does.
KYMO_API void device_range_end(DeviceRange range, device::Stream stream = device::current_stream());

}  // namespace kymo
