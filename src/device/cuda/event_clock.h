// The device's clock, made of CUDA's events: nanoseconds since the accelerator was opened.
//
// Events carry the time of the device's own timer (the one that %globaltimer reads; it advances in steps of 32 ns on
// Hopper), but the driver tells only differences, in milliseconds as a float: 24 bits. Over 100 ms that is a step of 8
// ns, over an hour one of a quarter of a millisecond. So the clock keeps base events, a new one at least every 100 ms
// of use, whose times are the sum of the steps between them, and measures each event from the nearest. The error of a
// time against another nearby is that of the timer; across an idle gap T it is T × 6e-8, far below what the two clocks
// drift apart meanwhile.
//
// Base events are recorded in a stream of their own, of the highest priority, which no work of others holds up, and
// nobody waits for them: one counts from when it is found to have happened.
//
// Thread-safe. Cost: ticks_of() one cuEventElapsedTime (0.16 µs) under a lock; tend() a coarse clock read.
#pragma once

#include <deque>
#include <mutex>

#include "device/backend.h"
#include "device/cuda/context.h"

namespace kymo::device::cuda {

using CoarseClock = int64_t (*)();  // the host's nanoseconds, for the age of a base alone
int64_t coarse_monotonic_ns();

class EventClock {
 public:
  explicit EventClock(const Context& context, CoarseClock coarse_clock = coarse_monotonic_ns);  // current
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  // To be called with every timed operation: places a base event where the last is too old.
  void tend();

  // The time of an event that was recorded with timing and has happened. Throws DeviceError.
  uint64_t ticks_of(CUevent event);

  // Brackets events of the idle stream between reads of the host's clock: 0.2 ms, ±3 µs on an H200, and the same bias
  // within ±50 ns each time. Does not wait for work: where the stream is held up (more than eight streams share the
  // device's queues), the last reading is carried on, and its error grows by 50 ns for each millisecond since.
  ClockReading read();

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
  ClockReading carried_on() const;

  const Context& context_;
  const CoarseClock coarse_clock_;
  CUstream stream_ = nullptr;
  std::mutex mutex_;
  std::deque<Base> bases_;     // in the order of time; never empty
  CUevent pending_ = nullptr;  // recorded, not yet seen to have happened
  CUevent probe_ = nullptr;    // of read()
  bool probe_outstanding_ = false;
  ClockReading last_;
  int64_t placed_ns_ = 0;  // when the last base was placed, on the host's coarse clock
};

}  // namespace kymo::device::cuda
