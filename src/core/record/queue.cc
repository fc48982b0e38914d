// The C functions of kymo/queue.h.

#include "record/queue.h"

#include <string.h>
#include <sys/mman.h>

#include <array>
#include <initializer_list>

#include "kymo/queue.h"
#include "record/numbers.h"
#include "record/process.h"
#include "record/ring.h"
#include "record/slots.h"
#include "record/slow_path.h"
#include "record/store.h"

static_assert(sizeof(kymo_queue) <= kymo::record::kPage);

namespace kymo::record {
namespace {

constexpr uint32_t kPairCells = 4;
constexpr uint32_t kFixedWords = 6;  // of a statement, before its text

uint32_t text_words(const char* text) noexcept { return 1 + static_cast<uint32_t>((strlen(text) + 7) / 8); }

uint32_t begin_cells(const kymo_queue& queue) noexcept {
  const uint32_t texts = text_words(queue.name) + text_words(queue.device_uuid) + text_words(queue.device_name);
  return 1 + (kFixedWords + texts + 1) / 2;
}

// The payload of Kind::ClockPair.
using PairWords = std::array<uint64_t, size_t{2} * (kPairCells - 1)>;
PairWords words_of(const base::ClockPair& pair) noexcept {
  return {pair.ticks, pair.monotonic_ns, pair.realtime_ns, pair.error_ns, pair.suspended_ns, 0};
}

void copy_text(char* to, const char* from, size_t room) noexcept {
  const size_t length = from != nullptr ? strnlen(from, room - 1) : 0;
  if (length != 0) memcpy(to, from, length);
  to[length] = '\0';
}

// The slot of the queue, if the queue belongs to this process and may record now. Otherwise null.
Slot* slot_for_recording(kymo_queue* queue) noexcept {
  if (!recording() || queue == nullptr) return nullptr;
  Process* shared = process();
  if (shared == nullptr || queue->pid != shared->pid) return nullptr;
  if (__builtin_expect(queue->slot != nullptr, 1)) return queue->slot;
  SegmentHeader* header = segment_for_recording(*shared);
  if (header == nullptr) return nullptr;
  // After a failure, it tries again only after some time: it must not wait again for every record.
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC_COARSE);
  Slot* slot = now < queue->retry_at ? nullptr : take_slot(*shared, *header);
  if (slot == nullptr) {
    if (now >= queue->retry_at) queue->retry_at = base::clock_ns(CLOCK_MONOTONIC_COARSE) + kRetryNs;
    count_loss_without_slot(*header);
    return nullptr;
  }
  slot->queue = queue;
  slot->clock = queue->clock;
  slot->wrap_bits = queue->wrap_bits;
  slot->busy.store(0, std::memory_order_relaxed);
  return queue->slot = slot;
}

// Makes space for `cells` at the slot's head and sets the slot busy. False: the record must not be stored.
bool make_room_on(Slot& slot, Kind kind, uint32_t cells) noexcept {
  slot.busy.store(1, std::memory_order_relaxed);
  while (__builtin_expect(
      slot.head.load(std::memory_order_relaxed) + cells > slot.limit.load(std::memory_order_relaxed), 0))
    if (make_room(&slot, kind, 0, cells) == nullptr) return false;
  return true;
}

void store_on(Slot& slot, Kind kind, uint32_t class_id, uint64_t time, const uint64_t* payload, uint32_t cells,
              bool truncated = false) noexcept {
  if (!make_room_on(slot, kind, 1 + cells)) return;
  const uint64_t head = slot.head.load(std::memory_order_relaxed);
  prefetch_ahead(slot, head);
  push_at(slot, head, time, make_word(kind, cells, class_id), payload, cells);
  if (__builtin_expect(truncated, 0)) count_loss(slot, kLossTextTruncated, 1);
  slot.busy.store(0, std::memory_order_relaxed);
}

// Stores the words `first`, then the payload of the event.
void store_found(Slot& slot, Kind kind, const FoundClass& found, const kymo_label& label, const kymo_arg* args,
                 uint32_t count, uint64_t time, const uint64_t* first, uint32_t first_count) noexcept {
  Payload payload;
  for (uint32_t i = 0; i < first_count; ++i) payload.put(first[i]);
  payload.put_event(found.name_inline ? label.name : nullptr, label.name_length, args, count);
  store_on(slot, kind, found.id, time, payload.words(), payload.cells(), payload.truncated());
}

void store_labelled(Slot& slot, Kind kind, const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t time,
                    const uint64_t* first, uint32_t first_count) noexcept {
  const FoundClass found = class_for(label, args, count, reinterpret_cast<SlotPage*>(&slot));
  store_found(slot, kind, found, label, args, count, time, first, first_count);
}

// On the ring of the calling thread.
void store_memory(Kind kind, const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t address) noexcept {
  if (!recording()) return;
  const FoundClass found = class_for(label, args, count);
  store_event(kind, found.id, found.name_inline ? label.name : nullptr, label.name_length, args, count, &address);
}

// The distance between two times on a counter that may wrap.
uint64_t elapsed(const kymo_queue& queue, uint64_t from, uint64_t to) noexcept {
  return (to - from) & (queue.wrap_bits < 64 ? (uint64_t{1} << queue.wrap_bits) - 1 : ~uint64_t{0});
}

bool is_backwards(const kymo_queue& queue, uint64_t ticks) noexcept {
  return ticks >> (queue.wrap_bits < 64 ? queue.wrap_bits - 1 : 63) != 0;
}

// A loss needs a track. If the queue has not described itself in this recording yet, it does so now.
void lose(Slot& slot, uint64_t count) noexcept {
  const SegmentHeader& header = *process()->segment.load(std::memory_order_acquire);
  if (slot.epoch != header.epoch.load(std::memory_order_relaxed) && make_room_on(slot, Kind::Loss, 1))
    slot.busy.store(0, std::memory_order_relaxed);
  constexpr uint64_t kMax = UINT32_MAX / 2;
  count_loss(slot, kLossClock, static_cast<uint32_t>(count < kMax ? count : kMax));
}

// Null: nothing records, or the operation ended before it began.
Slot* slot_for_span(kymo_queue* queue, uint64_t start, uint64_t end) noexcept {
  Slot* slot = slot_for_recording(queue);
  if (slot == nullptr) return nullptr;
  if (__builtin_expect(is_backwards(*queue, elapsed(*queue, start, end)), 0)) {
    lose(*slot, 1);
    return nullptr;
  }
  queue->last_time = end;
  return slot;
}

}  // namespace

uint32_t statement_cells(const kymo_queue& queue) noexcept {
  return begin_cells(queue) + queue.pair_count * kPairCells;
}

void state_queue(Slot& slot) noexcept {
  const kymo_queue& queue = *slot.queue;
  Payload payload;
  for (const uint64_t word : {queue.context, queue.queue, queue.clock, uint64_t{queue.wrap_bits},
                              queue.period_numerator, queue.period_denominator})
    payload.put(word);
  payload.put_text(queue.name, strlen(queue.name), 0);
  payload.put_text(queue.device_uuid, strlen(queue.device_uuid), 0);
  payload.put_text(queue.device_name, strlen(queue.device_name), 0);
  push_cells(slot, Kind::QueueBegin, 0, payload.words(), payload.cells());
  for (uint32_t i = 0; i < queue.pair_count; ++i) {
    const PairWords words = words_of(queue.pairs[i]);
    push_cells(slot, Kind::ClockPair, 0, words.data(), kPairCells - 1);
  }
}

}  // namespace kymo::record

using namespace kymo::record;

extern "C" {

kymo_queue* kymo_queue_open(const kymo_queue_info* info) {
  Process* shared = process();
  if (shared == nullptr || info == nullptr) return nullptr;
  void* memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* queue = static_cast<kymo_queue*>(memory);  // all zero is the initial state
  queue->context = info->context;
  queue->queue = info->queue;
  queue->clock = info->clock;
  queue->period_numerator = info->period_numerator;
  queue->period_denominator = info->period_denominator != 0 ? info->period_denominator : 1;
  queue->wrap_bits = info->wrap_bits != 0 && info->wrap_bits < 64 ? info->wrap_bits : 64;
  queue->pid = shared->pid;
  copy_text(queue->name, info->name, sizeof queue->name);
  copy_text(queue->device_uuid, info->device_uuid, sizeof queue->device_uuid);
  copy_text(queue->device_name, info->device_name, sizeof queue->device_name);
  return queue;
}

void kymo_queue_close(kymo_queue* queue) {
  if (queue == nullptr) return;
  Process* shared = process();
  SegmentHeader* header = shared != nullptr ? shared->segment.load(std::memory_order_acquire) : nullptr;
  // Not in a forked child: the slot is in the parent's segment.
  if (queue->slot != nullptr && header != nullptr && queue->pid == shared->pid) give_back_slot(*queue->slot, *header);
  munmap(queue, kPage);
}

void kymo_queue_span(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t start,
                     uint64_t end, uint64_t correlation) {
  Slot* slot = slot_for_span(queue, start, end);
  if (slot == nullptr) return;
  const uint64_t first[2] = {start, correlation};
  store_labelled(*slot, Kind::Span, *label, args, count, end, first, 2);
}

void kymo_queue_span_at(kymo_queue* queue, kymo_site* site, const kymo_arg* args, uint32_t count, uint64_t start,
                        uint64_t end, uint64_t correlation) {
  Slot* slot = slot_for_span(queue, start, end);
  if (slot == nullptr) return;
  const FoundClass found = class_at(*site, args, count, reinterpret_cast<SlotPage*>(slot));
  const uint64_t first[2] = {start, correlation};
  store_found(*slot, Kind::Span, found, site->label, args, count, end, first, 2);
}

void kymo_queue_range_begin(kymo_queue* queue, const kymo_label* label, const kymo_arg* args, uint32_t count,
                            uint64_t time, uint64_t handle) {
  Slot* slot = slot_for_recording(queue);
  if (slot == nullptr || origin_of_handle(*process(), handle) == HandleOrigin::NotThisRecording) return;
  queue->last_time = time;
  store_labelled(*slot, Kind::AsyncBegin, *label, args, count, time, &handle, 1);
}

void kymo_queue_range_end(kymo_queue* queue, uint64_t time, uint64_t handle) {
  Slot* slot = slot_for_recording(queue);
  if (slot == nullptr || origin_of_handle(*process(), handle) == HandleOrigin::NotThisRecording) return;
  queue->last_time = time;
  const uint64_t payload[2] = {handle, 0};
  store_on(*slot, Kind::AsyncEnd, 0, time, payload, 1);
}

void kymo_queue_clock_pair(kymo_queue* queue, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
                           uint64_t error_ns) {
  if (queue == nullptr) return;
  if (queue->pair_count == kQueuePairs)
    queue->pairs[0] = queue->pairs[1];
  else
    ++queue->pair_count;
  const kymo::base::ClockPair pair{ticks, monotonic_ns, realtime_ns, error_ns, kymo::base::suspended_ns()};
  queue->pairs[queue->pair_count - 1] = pair;
  if (queue->last_time == 0) queue->last_time = ticks;
  if (queue->slot == nullptr) return;  // its first statement will contain the pair
  Slot* slot = slot_for_recording(queue);
  if (slot == nullptr) return;
  const PairWords words = words_of(pair);
  store_on(*slot, Kind::ClockPair, 0, ticks, words.data(), kPairCells - 1);
}

void kymo_queue_lost(kymo_queue* queue, uint64_t count) {
  Slot* slot = count != 0 ? slot_for_recording(queue) : nullptr;
  if (slot != nullptr) lose(*slot, count);
}

// ---- For the calling thread ----------------------------------------------------------------------------------------

uint64_t kymo_ticks(void) {
  if (has_counter()) return counter();
  process();  // the first call of the process asks the CPU for its features
  return ticks();
}

uint64_t kymo_next_correlation(void) { return next_number(); }

uint64_t kymo_next_handle(void) { return next_handle(recording()); }

void kymo_span(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t start_ticks,
               uint64_t correlation) {
  if (!recording() || start_ticks == 0) return;
  const FoundClass found = class_for(*label, args, count);
  store_span(found.id, found.name_inline ? label->name : nullptr, label->name_length, args, count, start_ticks,
             correlation);
}

void kymo_span_at(kymo_site* site, const kymo_arg* args, uint32_t count, uint64_t start_ticks, uint64_t correlation) {
  if (!recording() || start_ticks == 0) return;
  const FoundClass found = class_at(*site, args, count);
  store_span(found.id, found.name_inline ? site->label.name : nullptr, site->label.name_length, args, count,
             start_ticks, correlation);
}

void kymo_allocation(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address) {
  store_memory(Kind::Allocation, *label, args, count, address);
}

void kymo_free(const kymo_label* label, const kymo_arg* args, uint32_t count, uint64_t address) {
  store_memory(Kind::Free, *label, args, count, address);
}

void kymo_watch_devices(int on) {
  if (Process* shared = process()) set_mode(*shared, kWatchBit, on != 0);
}

}  // extern "C"
