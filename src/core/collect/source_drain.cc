// How a Source reads its rings and writes their events.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "collect/source.h"
#include "kymo/error.h"

namespace kymo::collect {
namespace {

using record::Slot;
using record::SlotState;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxCells = 1 << 16;                     // in one chunk
constexpr auto kMaxDelay = std::chrono::milliseconds(500);  // how long a few records may wait for more
constexpr unsigned kMaxAttempts = 16;                       // to copy from a ring while its thread overtakes us

void wake_blocked(record::SegmentHeader& header) {
  header.progress.fetch_add(1, std::memory_order_seq_cst);
  if (header.blocked_producers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &header.progress, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

bool Source::drain(trace::Writer& writer, bool everything) {
  if (!introduced_) introduce(writer);
  bool read = false;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) read |= drain_ring(writer, i, everything);
  return read;
}

double Source::fullest() const {
  uint64_t max = 0;
  const uint32_t used = std::min(header_.slots_used.load(std::memory_order_acquire), geometry_.slot_capacity);
  for (uint32_t i = 0; i < used; ++i) {
    if (!record::has_memory(header_, i)) continue;
    const Slot& slot = slot_page(i)->slot;
    max = std::max(max, slot.head.load(std::memory_order_relaxed) - slot.tail.load(std::memory_order_relaxed));
  }
  return static_cast<double>(max) / geometry_.ring_cells;
}

// A few records make an inefficient chunk. They can stay in the ring for a short time without loss.
bool Source::worth_reading(Ring& ring, const Slot& slot, uint64_t head, uint32_t state, bool everything) {
  const uint64_t unread = head - ring.position;
  if (ring.decoded != ring.position) return true;
  const bool retired = state == static_cast<uint32_t>(SlotState::Retired);
  if (unread == 0) return retired;
  if (everything || retired || unread * 4 >= geometry_.ring_cells) return true;
  if (slot.side_count.load(std::memory_order_relaxed) > record::kSideCells / 2) return true;
  const auto now = Clock::now();
  if (ring.waiting_since == Clock::time_point{}) ring.waiting_since = now;
  return now - ring.waiting_since >= kMaxDelay;
}

bool Source::drain_ring(trace::Writer& writer, uint32_t index, bool everything) {
  const uint32_t state = header_.slot_state[index].load(std::memory_order_acquire);
  if (!record::has_memory(header_, index)) return false;
  Slot& slot = slot_page(index)->slot;
  Ring& ring = this->ring(index);
  uint64_t head = slot.head.load(std::memory_order_acquire);
  if (!worth_reading(ring, slot, head, state, everything)) return false;
  ring.waiting_since = {};

  classes_.update(header_.registry);
  const bool read = ring.position != head;
  while (ring.position < head) {
    if (ring.decoded == ring.position) decode_next(ring, slot, index, head);
    write_decoded(writer, ring);
    slot.tail.store(ring.position, std::memory_order_release);
    wake_blocked(header_);
  }
  if (state == static_cast<uint32_t>(SlotState::Retired)) {
    drain_side(writer, ring, index);
    take_slot_losses(slot, ring.decoder.track());
    if (const auto cost = costs_.find(ring.decoder.track()); cost != costs_.end()) {
      new_costs_.push_back(cost->second);
      costs_.erase(cost);
    }
    tracks_.erase(ring.decoder.track());
    flush_catalog(writer);
    header_.retired_slots.fetch_sub(1, std::memory_order_relaxed);
    header_.slot_state[index].store(static_cast<uint32_t>(SlotState::Free), std::memory_order_release);
    wake_blocked(header_);
    return true;
  }
  return read;
}

void Source::decode_next(Ring& ring, Slot& slot, uint32_t index, uint64_t& head) {
  const record::Cell* cells =
      reinterpret_cast<const record::Cell*>(reinterpret_cast<char*>(slot_page(index)) + record::kPage);
  const uint64_t mask = geometry_.ring_cells - 1, capacity = geometry_.ring_cells, block = capacity / record::kBlocks;
  const bool overwrite =
      header_.policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(record::RingPolicy::Overwrite);
  if (!overwrite) {
    if (head - ring.position > capacity) {  // a damaged slot: no thread can be this far ahead
      ring.decoder.lose_cells(head - ring.position, slot.tid.load(), "");
      ring.position = head;
    }
    // A large ring is read in pieces that end at a block's end: no record crosses it.
    const uint64_t cut = std::max((ring.position + kMaxCells) / block, ring.position / block + 1) * block;
    ring.decoded = ring.decoder.decode(cells, mask, ring.position, std::min(head, cut));
    account(ring, ring.decoded - ring.position);
    return;
  }
  // Copies the cells first, then reads how far the thread has moved. Cells that it may have overwritten meanwhile are
  // not used. If the thread has overwritten all of them, because this thread did not get CPU time, a shorter and newer
  // piece is tried.
  if (copy_.size() != capacity) copy_ = std::vector<record::Cell>(capacity);
  uint64_t from = ring.position, safe = 0;
  for (unsigned attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (attempt != 0) head = slot.head.load(std::memory_order_acquire);
    const uint64_t max = capacity >> std::min(attempt, 2u);
    if (head - from > max) from = (head - max + block - 1) / block * block;
    for (uint64_t at = from; at < head; ++at) {
      copy_[at & mask].time.store(cells[at & mask].time.load(std::memory_order_acquire), std::memory_order_relaxed);
      copy_[at & mask].word.store(cells[at & mask].word.load(std::memory_order_acquire), std::memory_order_relaxed);
    }
    const uint64_t reached = (slot.head.load(std::memory_order_acquire) / block + 1) * block;
    safe = reached > capacity ? reached - capacity : 0;
    if (safe < head) break;
  }
  const uint64_t good = std::max(from, std::min(safe, head));
  if (good > ring.position) {
    ring.decoder.lose_cells(good - ring.position, slot.tid.load(),
                            std::string(slot.name, std::min<size_t>(slot.name_length, sizeof slot.name)));
    ring.position = good;
  }
  ring.decoded = ring.decoder.decode(copy_.data(), mask, ring.position, head);
  account(ring, ring.decoded - ring.position);
}

void Source::account(const Ring& ring, uint64_t cells) {
  trace::Cost& cost = costs_[ring.decoder.track()];
  cost.track = ring.decoder.track();
  cost.events += cells;
  cost.picoseconds_per_event = costs_[0].picoseconds_per_event;
  cost.blocked_ns = header_.ticks_per_second != 0 ? ring.decoder.blocked_ticks() * 1000 /
                                                        std::max<uint64_t>(header_.ticks_per_second / 1'000'000, 1)
                                                  : 0;
}

void Source::write_decoded(trace::Writer& writer, Ring& ring) {
  const trace::EventBatch& batch = ring.decoder.batch();
  const bool new_track = ring.decoder.track_changed();
  if (trace::Track track; ring.decoder.take_changed_track(track)) {
    if (track.kind == trace::TrackKind::Thread)
      track.clock = kClockId;
    else if (!tracks_.contains(track.id))
      ++queues_;
    tracks_[track.id] = track;
    new_tracks_.push_back(track);
  }
  keep_losses(ring.decoder.take_losses());
  state_classes(batch);
  flush_catalog(writer);
  // Written also if it only states the open ranges or the owner of the ring: recovery uses the last chunk of a ring.
  if (ring.decoder.batch_has_events() || new_track || batch.opening != batch.closing) write_events(writer, batch);
  ring.position = ring.decoded;
}

void Source::write_events(trace::Writer& writer, const trace::EventBatch& batch) {
  const uint64_t count = batch.ranges.size() + batch.points.size();
  try {
    writer.events(id_, batch);
    events_ += count;
    count_interfaces(batch);
  } catch (const InvalidArgument& error) {
    // No chunk can hold it, now or later. Only these events are lost.
    keep_losses({{trace::LossCause::WriteFailed, batch.track, count, 0, 0, error.what()}});
  }
}

// Reads the side buffer of a thread that will not move it into its ring any more.
void Source::drain_side(trace::Writer& writer, Ring& ring, uint32_t index) {
  record::SlotPage& page = *slot_page(index);
  const uint32_t count = std::min(page.slot.side_count.load(std::memory_order_acquire), record::kSideCells);
  if (count == 0 && page.slot.lost_ends == 0) return;
  ring.decoder.decode_aside(page.side, count, page.slot.lost_ends, ring.position);
  write_decoded(writer, ring);
  page.slot.side_count.store(0, std::memory_order_release);
  page.slot.lost_ends = 0;
}

}  // namespace kymo::collect
