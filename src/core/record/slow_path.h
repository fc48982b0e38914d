// The slow path of a store: everything that must be done before there is space for a record.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "record/layout.h"
#include "record/process.h"

namespace kymo::record {

// Called with slot->busy set. Gets a slot for the thread, starts an epoch, moves records of signal handlers from the
// side buffer into the ring, wakes the collector, and waits or drops if the ring is full. Returns the slot with space
// for `cells` at its head, or null if the record must not be stored (it is counted). The slot may change; busy is set
// on the returned one and clear on all others.
Slot* make_room(Slot* slot, Kind kind, uint32_t class_id, uint32_t cells) noexcept;

// Gets a slot for this thread without storing anything. Null: it is inside a store, or there is no slot. That is
// counted as a lost event of this kind. Pad: not counted, because the event itself follows.
Slot* enter_ring(Kind kind = Kind::Instant) noexcept;

// For a signal handler that interrupted a store of its thread: puts one record into the side buffer, or counts a loss.
void store_aside(Slot& slot, Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t payload_cells) noexcept;

// Counts an event that could not be kept. It is written to the ledger with the next record that fits.
void count_loss(Slot& slot, uint32_t cause, uint32_t count) noexcept;

// Writes the last records of a thread that ends, or of a queue that is closed, as far as they fit.
void end_owner(Slot& slot, SegmentHeader& header) noexcept;

// ---- Waiting between a recording thread and the collector ----------------------------------------------------------

// At most one system call, and only if the collector sleeps.
void wake_collector(SegmentHeader& header) noexcept;

// Sleeps until `progress` is different from `seen` and the collector wakes one of `events`, or for `nap_ns`.
void sleep_until_progress(SegmentHeader& header, uint32_t seen, uint32_t events, uint64_t nap_ns) noexcept;

inline constexpr uint64_t kFirstNapNs = 2'000'000;  // doubles with each sleep: thousands of threads may wait at once
inline constexpr uint64_t kStallTimeoutNs = 1'000'000'000;  // for a collector that makes no progress

// The max time that one sleep counts for. If both processes were stopped during the sleep, none could make progress.
inline constexpr uint64_t kMaxSleepNs = 20'000'000;

// Waits until `ready`, or until the collector has made no progress for one second in which this thread ran. `events` is
// what the thread waits for (layout.h). True: ready.
template <class Ready>
bool wait_for_collector(SegmentHeader& header, uint32_t events, Ready ready) noexcept {
  uint64_t nap = kFirstNapNs;
  uint64_t last = base::monotonic_ns(), waited = 0;
  uint32_t seen = header.progress.load(std::memory_order_acquire);
  header.blocked_producers.fetch_add(1, std::memory_order_seq_cst);
  bool done = ready();
  while (!done) {
    wake_collector(header);
    sleep_until_progress(header, seen, events, nap);
    nap = nap * 2 < kMaxSleepNs ? nap * 2 : kMaxSleepNs;
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
