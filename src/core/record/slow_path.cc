#include "record/slow_path.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/queue.h"
#include "record/ring.h"
#include "record/slots.h"

namespace kymo::record {
namespace {

// The records that describe the slot's owner need no check for space: the block is new, or the ring was read to its
// end.
void begin_thread(Slot& slot) noexcept {
  const uint64_t identity[2] = {slot.tid.load(std::memory_order_relaxed), static_cast<uint64_t>(slot.depth)};
  push_cells(slot, Kind::ThreadBegin, 0, identity, 1);
  char name[sizeof slot.name] = {};
  uint64_t length = slot.name_length;
  if (length != 0) {
    memcpy(name, slot.name, length);
  } else {
    prctl(PR_GET_NAME, name);
    length = strnlen(name, sizeof name);
  }
  uint64_t words[8] = {length};
  memcpy(words + 1, name, sizeof name);
  push_cells(slot, Kind::ThreadName, 0, words, 4);
}

void begin_queue(Slot& slot) noexcept {
  const uint64_t block = (slot.mask + 1) / kBlocks;
  slot.stated_before = (slot.head.load(std::memory_order_relaxed) / block + 1) * block;
  state_queue(slot);
}

SegmentHeader& header_of(Process& shared) noexcept { return *shared.segment.load(std::memory_order_acquire); }

uint64_t capacity_of(const Slot& slot) noexcept { return slot.mask + 1; }

// The end of the block at the head, or the end of the space that the collector has read, if that comes first.
uint64_t reach(const Slot& slot, bool overwrite) noexcept {
  const uint64_t block = capacity_of(slot) / kBlocks;
  const uint64_t block_end = (slot.head.load(std::memory_order_relaxed) / block + 1) * block;
  if (overwrite) return block_end;
  const uint64_t read_to = slot.tail.load(std::memory_order_acquire) + capacity_of(slot);
  return block_end < read_to ? block_end : read_to;
}

bool fits(const Slot& slot, uint64_t cells) noexcept {
  return slot.head.load(std::memory_order_relaxed) + cells <= slot.limit.load(std::memory_order_relaxed);
}

// Makes space for `cells` in one block. If they do not fit into this one, pads the rest of it. False: the ring is full.
bool advance(Slot& slot, SegmentHeader& header, uint64_t cells) noexcept {
  const bool overwrite = header.policy.load(std::memory_order_relaxed) == static_cast<uint32_t>(RingPolicy::Overwrite);
  const uint64_t block = capacity_of(slot) / kBlocks;
  const uint64_t head = slot.head.load(std::memory_order_relaxed);
  const uint64_t left = block - head % block;
  if (cells > left) {
    slot.limit.store(reach(slot, overwrite), std::memory_order_seq_cst);
    if (!fits(slot, left)) return false;
    push_pad(slot, static_cast<uint32_t>(left));
  }
  // In its first lap, a ring gets its memory block by block: most threads need only the first one.
  const uint64_t start = slot.head.load(std::memory_order_relaxed);
  if (start % block == 0 && start != 0 && start < capacity_of(slot))
    map_pages(slot.cells + start, block * sizeof(Cell));
  slot.limit.store(reach(slot, overwrite), std::memory_order_seq_cst);
  return fits(slot, cells);
}

void push_blocked(Slot& slot, uint64_t from, uint64_t to) noexcept {
  const uint64_t payload[2] = {from, 0};
  push_at(slot, slot.head.load(std::memory_order_relaxed), to, make_word(Kind::Blocked, 1, 0), payload, 1);
}

// Moves the side buffer into the ring: records of a signal handler, and ends that found the ring full. Moves all of it
// or nothing. `waiting`: since when the thread waits for the collector, if it waits. Records of handlers during the
// wait split it in two.
bool move_side(Slot& slot, SegmentHeader& header, uint64_t* waiting = nullptr) noexcept {
  uint32_t count = slot.side_count.load(std::memory_order_relaxed);
  if (count == 0) return true;
  const SlotPage* page = slot_page(&header, slot.index);
  const uint64_t first = page->side[0].time.load(std::memory_order_relaxed);
  if (waiting != nullptr && first > *waiting) {
    if (!advance(slot, header, 2)) return false;
    push_blocked(slot, *waiting, first);
    *waiting = first;
  }
  uint64_t head;
  do {
    if (!advance(slot, header, count)) return false;
    head = slot.head.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) {
      Cell& cell = slot.cells[(head + i) & slot.mask];
      cell.time.store(page->side[i].time.load(std::memory_order_relaxed), std::memory_order_relaxed);
      cell.word.store(page->side[i].word.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    if (waiting != nullptr) *waiting = ticks();
    // Another handler may have added to it: repeat.
  } while (!slot.side_count.compare_exchange_strong(count, 0, std::memory_order_relaxed));
  slot.side_open = 0;
  slot.head.store(head + count, std::memory_order_release);
  return true;
}

bool write_losses(Slot& slot, SegmentHeader& header) noexcept {
  if (slot.loss_pending.load(std::memory_order_relaxed) == 0) return true;
  for (uint32_t cause = 0; cause < kLossCauses; ++cause) {
    const uint32_t count = slot.losses[cause].load(std::memory_order_relaxed);
    if (count == 0) continue;
    if (!advance(slot, header, 3)) return false;
    const uint64_t payload[4] = {cause, count, slot.loss_first.load(std::memory_order_relaxed),
                                 slot.loss_last.load(std::memory_order_relaxed)};
    slot.losses[cause].fetch_sub(count, std::memory_order_relaxed);
    slot.loss_pending.fetch_sub(count, std::memory_order_relaxed);
    push_cells(slot, Kind::Loss, 0, payload, 2);
  }
  return true;
}

bool open_epoch(Slot& slot, SegmentHeader& header) noexcept {
  const uint32_t epoch = header.epoch.load(std::memory_order_seq_cst);
  if (slot.epoch == epoch) return true;
  const uint32_t statement = slot.queue != nullptr ? statement_cells(*slot.queue) : 2 + 5;
  if (!advance(slot, header, 2 + statement)) return false;
  const uint64_t payload[2] = {epoch, static_cast<uint64_t>(slot.depth)};
  push_cells(slot, Kind::Sync, 0, payload, 1);
  if (slot.queue != nullptr)
    begin_queue(slot);
  else
    begin_thread(slot);
  slot.epoch = epoch;
  slot.dropped_depth = 0;
  slot.side_dropped = 0;
  return true;
}

// The records that a flight recorder keeps must show their owner. For a thread, the slot shows it. A queue states it
// again in each block.
bool restate_queue(Slot& slot, SegmentHeader& header, uint64_t cells) noexcept {
  if (slot.queue == nullptr || slot.head.load(std::memory_order_relaxed) < slot.stated_before) return true;
  if (header.policy.load(std::memory_order_relaxed) != static_cast<uint32_t>(RingPolicy::Overwrite)) return true;
  if (!advance(slot, header, statement_cells(*slot.queue) + cells)) return false;
  begin_queue(slot);
  return true;
}

// Ends that did not fit even into the side buffer. Their ranges are in the file and must not stay open.
bool write_lost_ends(Slot& slot, SegmentHeader& header, uint64_t* waiting) noexcept {
  for (; slot.lost_ends.load(std::memory_order_relaxed) != 0; slot.lost_ends.fetch_sub(1, std::memory_order_relaxed)) {
    if (!advance(slot, header, 1)) return false;
    push_cells(slot, Kind::End, on_stack(0, kAnyStack), nullptr, 0);
    if (waiting != nullptr) *waiting = ticks();
  }
  return true;
}

bool try_room(Slot& slot, SegmentHeader& header, uint64_t cells, uint64_t* waiting = nullptr) noexcept {
  do {
    if (!move_side(slot, header, waiting) || !write_lost_ends(slot, header, waiting) || !open_epoch(slot, header) ||
        !write_losses(slot, header) || !advance(slot, header, cells) || !restate_queue(slot, header, cells))
      return false;
    // A handler, or a new recording, may have lowered the limit that advance() has just set.
  } while (slot.side_count.load(std::memory_order_relaxed) != 0 ||
           slot.epoch != header.epoch.load(std::memory_order_seq_cst));
  return true;
}

// If the start of a range was dropped, the complete range is dropped: its contents and its end.
Slot* drop(Slot& slot, Kind kind, uint32_t class_id, uint32_t cause) noexcept {
  if (kind == Kind::End && slot.dropped_depth == 0) {
    // The start is in the file, so the end must be there too: the side buffer keeps the end, or at least counts it.
    store_aside(slot, kind, class_id, nullptr, 0);
  } else {
    if (kind == Kind::Begin) ++slot.dropped_depth;
    count_loss(slot, cause, 1);
  }
  slot.limit.store(0, std::memory_order_relaxed);
  slot.busy.store(0, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace

// While the ends of dropped ranges come, and if there is no counter for the hot path, the next record comes here too.
static Slot* with_room(Slot* slot, uint64_t cells) noexcept {
  if (slot->dropped_depth != 0 || !has_counter())
    slot->limit.store(slot->head.load(std::memory_order_relaxed) + cells, std::memory_order_seq_cst);
  return slot;
}

Slot* make_room(Slot* slot, Kind kind, uint32_t class_id, uint32_t cells) noexcept {
  Process& shared = *process();
  if (slot->index == kPrivateSlot) {
    Slot* entered = this_slot;
    if (entered != slot) {
      // A signal handler moved the thread into the segment after we read its slot.
      slot->busy.store(0, std::memory_order_relaxed);
      entered->busy.store(1, std::memory_order_relaxed);
    } else if ((entered = enter_segment(shared, *slot, kind)) == nullptr) {
      slot->busy.store(0, std::memory_order_relaxed);
      return nullptr;
    }
    slot = entered;
  }
  SegmentHeader& header = header_of(shared);
  if (slot->epoch != header.epoch.load(std::memory_order_relaxed)) slot->dropped_depth = 0;
  if (slot->dropped_depth != 0) {
    if (kind == Kind::Begin)
      return drop(*slot, kind, class_id,
                  slot->losses[kLossCollectorStalled] != 0 ? kLossCollectorStalled : kLossRingFull);
    if (kind == Kind::End) {
      --slot->dropped_depth;
      slot->busy.store(0, std::memory_order_relaxed);
      return nullptr;
    }
  }
  const bool had_room = try_room(*slot, header, cells);
  const uint64_t capacity = capacity_of(*slot);
  const uint64_t unread = slot->head.load(std::memory_order_relaxed) - slot->tail.load(std::memory_order_relaxed);
  if (had_room && unread * 2 >= capacity) wake_collector(header);
  if (had_room) return with_room(slot, cells);

  if (header.closed.load(std::memory_order_acquire) != 0) {
    stop_recording(shared);  // the collector has closed the segment: nobody reads it any more
    slot->busy.store(0, std::memory_order_relaxed);
    return nullptr;
  }
  if (header.policy.load(std::memory_order_relaxed) != static_cast<uint32_t>(RingPolicy::Block)) {
    wake_collector(header);
    return drop(*slot, kind, class_id, kLossRingFull);
  }
  // After one wait without success, a thread tries again only when the collector has made progress: it must not lose a
  // second per record.
  const bool gave_up = slot->losses[kLossCollectorStalled].load(std::memory_order_relaxed) != 0;
  const uint64_t began = ticks();
  uint64_t waiting = began;
  const auto ready = [&] { return try_room(*slot, header, cells, &waiting); };
  if (gave_up || !wait_for_collector(header, ring_read(slot->index), ready))
    return drop(*slot, kind, class_id, kLossCollectorStalled);
  const uint64_t now = ticks();  // before the limit is read: a handler lowers it, and its record goes first
  slot->blocked_ticks.fetch_add(now - began, std::memory_order_relaxed);
  if (fits(*slot, cells + 2)) push_blocked(*slot, waiting, now);
  return with_room(slot, cells);
}

Slot* enter_ring(Kind kind) noexcept {
  Slot* slot = find_slot();
  if (slot == nullptr || slot->index != kPrivateSlot) return slot;
  if (slot->busy.exchange(1, std::memory_order_relaxed) != 0) return nullptr;
  slot = make_room(slot, kind, 0, 1);
  if (slot != nullptr) slot->busy.store(0, std::memory_order_relaxed);
  return slot;
}

void count_loss(Slot& slot, uint32_t cause, uint32_t count) noexcept {
  // On the clock of the lost events.
  const uint64_t now = slot.queue != nullptr ? slot.queue->last_time : ticks();
  slot.losses[cause].fetch_add(count, std::memory_order_relaxed);
  if (slot.loss_pending.fetch_add(count, std::memory_order_relaxed) == 0)
    slot.loss_first.store(now, std::memory_order_relaxed);
  slot.loss_last.store(now, std::memory_order_relaxed);
  slot.limit.store(0, std::memory_order_relaxed);
}

void store_aside(Slot& slot, Kind kind, uint32_t class_id, const uint64_t* payload, uint32_t payload_cells) noexcept {
  Process* shared = process();
  if (shared == nullptr) return;
  SegmentHeader* header = shared->segment.load(std::memory_order_acquire);
  if (header == nullptr) return;
  if (slot.index == kPrivateSlot) {
    if (kind != Kind::End) count_loss_without_slot(*header);
    return;
  }
  const uint32_t level = slot.busy.fetch_add(1, std::memory_order_relaxed);
  const uint32_t count = slot.side_count.load(std::memory_order_relaxed);
  // A range is stored only if there is also space for its end. Otherwise its contents are dropped with it.
  const uint32_t kept_for_ends = slot.side_open + (kind == Kind::Begin ? 1 : 0);
  const uint32_t wanted = kind == Kind::End ? 1 : 1 + payload_cells + kept_for_ends;
  const bool full = level > 1 || count + wanted > kSideCells;
  if (kind == Kind::End && slot.side_dropped != 0) {
    --slot.side_dropped;
  } else if (kind == Kind::End && full) {
    slot.lost_ends.fetch_add(1, std::memory_order_relaxed);
  } else if (full || (kind == Kind::Begin && slot.side_dropped != 0)) {
    if (kind == Kind::Begin) ++slot.side_dropped;
    count_loss(slot, kLossSignalBufferFull, 1);
  } else {
    if (kind == Kind::Begin) ++slot.side_open;
    if (kind == Kind::End && slot.side_open != 0) --slot.side_open;
    Cell* side = slot_page(header, slot.index)->side + count;
    side->time.store(ticks(), std::memory_order_relaxed);
    side->word.store(make_word(kind, payload_cells, class_id), std::memory_order_relaxed);
    for (uint32_t i = 0; i < payload_cells; ++i) {
      side[1 + i].time.store(payload[2 * size_t{i}], std::memory_order_relaxed);
      side[1 + i].word.store(payload[2 * size_t{i} + 1], std::memory_order_relaxed);
    }
    slot.side_count.store(count + 1 + payload_cells, std::memory_order_release);
  }
  slot.limit.store(0, std::memory_order_relaxed);  // the next record of the thread moves it into the ring
  slot.busy.store(level, std::memory_order_relaxed);
}

void end_owner(Slot& slot, SegmentHeader& header) noexcept {
  if (move_side(slot, header) && write_losses(slot, header) && advance(slot, header, 1))
    push_cells(slot, Kind::ThreadEnd, 0, nullptr, 0);
}

void wake_collector(SegmentHeader& header) noexcept {
  header.wake.fetch_add(1, std::memory_order_seq_cst);
  if (header.collector_sleeps.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &header.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void sleep_until_progress(SegmentHeader& header, uint32_t seen, uint32_t events, uint64_t nap_ns) noexcept {
  const uint64_t until = base::monotonic_ns() + nap_ns;  // in case a wake-up is missed
  const timespec deadline{static_cast<time_t>(until / 1'000'000'000), static_cast<long>(until % 1'000'000'000)};
  syscall(SYS_futex, &header.progress, FUTEX_WAIT_BITSET, seen, &deadline, nullptr, events);
}

}  // namespace kymo::record
