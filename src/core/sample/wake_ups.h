// The kernel's event of one thread waking another one (the tracepoint sched_waking).
//
// It is recorded of all threads of the machine: a timer, a device or another program may wake a recorded thread. Who
// wakes is whom the sample is about, and the woken thread is in the data of the tracepoint. Where these data have which
// field is in files of the kernel that only root can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace kymo::sample {

struct WakeUpEvent {
  uint64_t number = 0;                        // of the tracepoint: perf_event_attr::config
  uint32_t flags_offset = 0, tid_offset = 0;  // in its data
};

// Throws kymo::NotAvailable with the reason.
WakeUpEvent find_wake_up_event();

// From the text of the file "format" of the tracepoint. Nothing: it has not the fields that are needed.
std::optional<WakeUpEvent> parse_wake_up_event(std::string_view format);

struct Woken {
  uint32_t tid = 0;              // 0: the data are too short
  bool is_by_interrupt = false;  // and not by the thread that it interrupted
};
Woken woken_thread(base::Bytes data, const WakeUpEvent& event);

// How many wake-ups are recorded: each costs its thread 0.3 µs. With more than kRate a second, there are pauses.
class WakeUpLimit {
 public:
  static constexpr uint64_t kRate = 20'000;  // a second for each processor

  WakeUpLimit(size_t processors, uint64_t now_ns) : processors_(processors), looked_ns_(now_ns) {}

  // So many were recorded since the last call. Returns whether they are to be recorded from now on.
  bool go_on(uint64_t count, uint64_t now_ns);
  uint64_t paused_ns() const { return paused_ns_; }

 private:
  const size_t processors_;
  uint64_t looked_ns_, paused_ns_ = 0;
  double saved_ = 1;  // seconds at the rate that may be recorded at once
  bool is_on_ = true;
};

}  // namespace kymo::sample
