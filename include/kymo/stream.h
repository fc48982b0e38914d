// Streams are queues of device work that runs in order. Events are points in a stream.
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

// A queue of a device. A small value; copies refer to the same queue. Work on one stream runs in order. Work on
// different streams has no order, unless an event sets one.
class KYMO_API Stream {
 public:
  // One of the device's 32 queues besides the default one, in rotation.
  Stream() : Stream(Device::current()) {}
  explicit Stream(Device device);

  Device device() const;
  uint32_t id() const;       // 0: the default stream
  void synchronize() const;  // waits for what was queued so far
  bool query() const;        // true if all of it has run

  // For programs that use the driver of the device themselves. The handle is a CUstream on CUDA, and 0 on other
  // devices.
  uint64_t native_handle() const;
  // Work that is queued from now on on another stream of the driver, given by its handle, runs after the work that is
  // in this stream now. If the driver cannot order the two, the host waits.
  void precede(uint64_t native_handle) const;
  // The other way round: work that is queued from now on on this stream runs after the work that is in the other stream
  // now. Throws NotAvailable if streams of this device have no handles.
  void follow(uint64_t native_handle) const;

  bool operator==(const Stream&) const = default;
  explicit Stream(StreamState& state) : state_(&state) {}
  StreamState& state() const { return *state_; }

 private:
  StreamState* state_;
};

KYMO_API Stream default_stream();
KYMO_API Stream default_stream(Device device);
// The stream that this thread's work goes to: the default stream until set_stream changes it.
KYMO_API Stream current_stream();
KYMO_API Stream current_stream(Device device);
KYMO_API void set_stream(Stream stream);

// Sets this thread's current stream until the end of the scope.
class [[nodiscard]] StreamGuard {
 public:
  explicit StreamGuard(Stream stream) : before_(current_stream(stream.device())) { set_stream(stream); }
  ~StreamGuard() { set_stream(before_); }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream before_;
};

// A point in a stream. An event may be recorded repeatedly; all queries are about the last time. The driver's object is
// reused by other events, but an event never reports the state of another one.
class KYMO_API Event {
 public:
  explicit Event(bool enable_timing = false) : Event(enable_timing, Device::current()) {}
  Event(bool enable_timing, Device device);
  ~Event();
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;

  void record();  // after all work that is in the current stream now
  void record(Stream stream);
  void wait();  // later work of the current stream waits for it, on the device; no effect if never recorded
  void wait(Stream stream);
  bool query() const;        // true if it was recorded and has been reached
  void synchronize() const;  // blocks until it is reached; returns at once if it was never recorded
  // Milliseconds from this event to `end`. Waits for both. Throws Error if one of them has no timing, was not recorded,
  // or is on another device, or if `end` was reached first.
  double elapsed_time(const Event& end) const;

 private:
  EventState& state() const;  // throws Error if the event was moved away

  std::unique_ptr<EventState> state_;
};

}  // namespace kymo::device

namespace kymo {

// A range on a stream. It begins when all work queued before its start has completed, and ends when all work queued
// before its end has completed. The stream does not stall: the device takes the times. Recorded only while something
// records.
enum class DeviceRange : uint64_t {};  // 0: not recorded
KYMO_API DeviceRange device_range_start(std::string_view name, device::Stream stream = device::current_stream());
// An unknown or ended range is counted while recording, as for range_end.
KYMO_API void device_range_end(DeviceRange range, device::Stream stream = device::current_stream());

}  // namespace kymo
