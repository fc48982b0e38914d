// The device's clock, built from CUDA events: nanoseconds since the accelerator was opened.
//
// Events have the time of the device's own timer (the one that %globaltimer reads; on Hopper it advances in steps of 32
// ns). But the driver returns only differences, in milliseconds as a float with 24 bits. Over 100 ms the resolution is
// 8 ns, over an hour it is a quarter of a millisecond. So the clock keeps base events, with a new one at least every
// 100 ms of use. The time of a base event is the sum of the steps between them, and each event is measured from the
// nearest one. Two times near each other are as exact as the timer. Across an idle gap T the error is T × 6e-8, far
// below the drift between the two clocks in that time.
//
// Base events are recorded in their own stream with the highest priority, so that other work does not delay them.
// Nothing waits for them: a base event is used as soon as it is found to have happened.
//
// Thread-safe. Cost: ticks_of() makes one cuEventElapsedTime (0.16 µs) under a lock; tend() reads a coarse clock.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "device/backend.h"
#include "device/cuda/context.h"

namespace kymo::device::cuda {

using CoarseClock = int64_t (*)();  // the host's nanoseconds, only for the age of a base event
int64_t coarse_monotonic_ns();

class EventClock {
 public:
  // The context must be current.
  explicit EventClock(const Context& context, CoarseClock coarse_clock = coarse_monotonic_ns);
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  // Call it with every timed operation: records a base event if the last one is too old.
  void tend();

  // The time of an event that was recorded with timing and has happened. Throws DeviceError.
  uint64_t ticks_of(CUevent event);

  // Brackets events of the idle stream between reads of the host's clock: 0.2 ms, ±3 µs on an H200, with the same bias
  // within ±50 ns each time. Does not wait for work. If the stream is delayed (more than eight streams share the
  // device's queues), it extrapolates the last reading, whose error grows by 50 ns for each millisecond since then.
  base::ClockPair read();

 private:
  struct Base {
    CUevent event;
    double ticks;
  };

  void adopt_pending();
  void place(int64_t now_ns);
  CUevent unused_event();
  double elapsed(CUevent from, CUevent to) const;
  double ticks_from_nearest(CUevent event) const;
  bool probe(int64_t& before, int64_t& after);
  base::ClockPair carried_on() const;

  const Context& context_;
  const CoarseClock coarse_clock_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  std::deque<Base> bases_;     // in order of time; never empty
  CUevent pending_ = nullptr;  // recorded, not yet seen as happened
  CUevent probe_ = nullptr;    // for read()
  bool probe_outstanding_ = false;
  base::ClockPair last_;
  int64_t placed_ns_ = 0;  // when the last base was recorded, on the host's coarse clock
};

// Converts %globaltimer, which kernels read, to the event clock. Both are the same timer of the device, but the driver
// reports only differences between events.
//
// The offset is measured once, at the first use: a kernel that stores the timer, and an event after it, sixteen times.
// In the best case the event follows the store by less than a microsecond, and the best case is taken.
class TimerOffset {
 public:
  TimerOffset(const Context& context, EventClock& clock) : context_(context), clock_(clock) {}
  // With a known offset, for tests.
  TimerOffset(const Context& context, EventClock& clock, int64_t offset)
      : context_(context), clock_(clock), tried_(true), offset_(offset) {}

  // The timer minus the clock's ticks. Waits for its own stream, a millisecond in total. Empty if the device rejects
  // the kernel.
  std::optional<int64_t> get();  // the context must be current

 private:
  std::optional<int64_t> measure();

  const Context& context_;
  EventClock& clock_;
  std::mutex mutex_;
  bool tried_ = false;
  std::optional<int64_t> offset_;
};

}  // namespace kymo::device::cuda
