// Waiting between a recording thread and the collector: who wakes whom, and how long one waits for the other.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "record/layout.h"

namespace kymo::record {

// At most one system call, and only if the collector sleeps.
void wake_collector(SegmentHeader& header) noexcept;

// Sleeps until `progress` is different from `seen`, or for a short time.
void sleep_until_progress(SegmentHeader& header, uint32_t seen) noexcept;

inline constexpr uint64_t kStallTimeoutNs = 1'000'000'000;  // for a collector that makes no progress

// The max time that one sleep counts for. If both processes were stopped during the sleep, none could make progress.
inline constexpr uint64_t kMaxSleepNs = 20'000'000;

// Waits until `ready`, or until the collector has made no progress for one second in which this thread ran. True:
// ready.
template <class Ready>
bool wait_for_collector(SegmentHeader& header, Ready ready) noexcept {
  uint64_t last = base::monotonic_ns(), waited = 0;
  uint32_t seen = header.progress.load(std::memory_order_acquire);
  header.blocked_producers.fetch_add(1, std::memory_order_seq_cst);
  bool done = ready();
  while (!done) {
    wake_collector(header);
    sleep_until_progress(header, seen);
    done = ready();
    const uint32_t now_seen = header.progress.load(std::memory_order_acquire);
    const uint64_t now = base::monotonic_ns();
    waited += now - last < kMaxSleepNs ? now - last : kMaxSleepNs;
    last = now;
    if (now_seen != seen) waited = 0;
    seen = now_seen;
    if (waited >= kStallTimeoutNs || header.closed.load(std::memory_order_relaxed) != 0) break;
  }
  header.blocked_producers.fetch_sub(1, std::memory_order_relaxed);
  return done;
}

}  // namespace kymo::record
