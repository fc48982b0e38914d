// A ring: 16-byte cells that one thread writes and one collector reads.
//
// It has one writer, because a second one would cost an atomic read-modify-write per record. Its memory is in the
// segment, after the slot of its thread, so that it outlives the process. When it is full, the slow path (slow_path.h)
// waits, drops or overwrites. No record crosses the end of a block. A store is two loads of the slot's cache line, the
// clock, two words into the ring, and the head. It costs about as much as the clock alone.
#pragma once

#include <string.h>

#include <cstdint>

#include "kymo/kymo.h"
#include "record/clock.h"
#include "record/layout.h"

namespace kymo::record {

// The collector read the next cache lines one lap ago, so they are in the cache of its core. An early prefetch avoids a
// stall in a store.
inline constexpr uint64_t kPrefetchCells = 32;
inline void prefetch_ahead(const Slot& slot, uint64_t head) noexcept {
  const Cell* cell = &slot.cells[(head + kPrefetchCells) & slot.mask];
#if defined(__x86_64__)
  // By default, compilers prefetch for reading even if asked to prefetch for writing. The store would then wait for
  // the collector's core a second time. Processors without this instruction ignore it.
  asm volatile("prefetchw %0" : : "m"(*cell));
#else
  __builtin_prefetch(cell, 1);
#endif
}

// Writes one record at the head. The caller must know that it fits.
inline void push_at(Slot& slot, uint64_t head, uint64_t time, uint64_t word, const uint64_t* payload,
                    uint32_t payload_cells) noexcept {
  Cell& cell = slot.cells[head & slot.mask];
  cell.time.store(time, std::memory_order_relaxed);
  cell.word.store(word, std::memory_order_relaxed);
  for (uint32_t i = 0; i < payload_cells; ++i) {
    Cell& next = slot.cells[(head + 1 + i) & slot.mask];
    next.time.store(payload[2 * size_t{i}], std::memory_order_relaxed);
    next.word.store(payload[2 * size_t{i} + 1], std::memory_order_relaxed);
  }
  slot.head.store(head + 1 + payload_cells, std::memory_order_release);
}

inline void push_cells(Slot& slot, Kind kind, uint32_t class_id, const uint64_t* payload,
                       uint32_t payload_cells) noexcept {
  push_at(slot, slot.head.load(std::memory_order_relaxed), ticks(), make_word(kind, payload_cells, class_id), payload,
          payload_cells);
}

// Fills `cells` cells that readers must skip.
inline void push_pad(Slot& slot, uint32_t cells) noexcept {
  const uint64_t head = slot.head.load(std::memory_order_relaxed);
  Cell& cell = slot.cells[head & slot.mask];
  cell.time.store(0, std::memory_order_relaxed);
  cell.word.store(make_word(Kind::Pad, cells - 1, 0), std::memory_order_relaxed);
  slot.head.store(head + cells, std::memory_order_release);
}

inline constexpr uint32_t kMaxPayloadWords = 512;  // 4 KiB: a record fits into a block of the smallest ring
inline constexpr uint32_t kMaxStoredArgs = 32;

// Builds the payload of one record on the stack, because its length is not known before.
class Payload {
 public:
  void put(uint64_t word) noexcept {
    if (used_ < kMaxPayloadWords) words_[used_++] = word;
  }
  // Puts the length, then the bytes. `keep` words are reserved for what comes after.
  void put_text(const char* text, uint64_t length, uint32_t keep) noexcept {
    const uint64_t room = kMaxPayloadWords - used_ > keep + 1 ? (kMaxPayloadWords - used_ - keep - 1) * 8 : 0;
    if (length > room) {
      length = room;
      truncated_ = true;
    }
    put(length);
    const auto words = static_cast<uint32_t>((length + 7) / 8);
    if (words == 0) return;
    words_[used_ + words - 1] = 0;
    memcpy(words_ + used_, text, length);
    used_ += words;
  }
  // Puts the name of an event, if its class does not have it, and its arguments. What is too long is truncated.
  void put_event(const char* inline_name, uint32_t inline_length, const kymo_arg* args, uint32_t count) noexcept {
    if (count > kMaxStoredArgs) {
      count = kMaxStoredArgs;
      truncated_ = true;
    }
    if (inline_name != nullptr) put_text(inline_name, inline_length, count);
    for (uint32_t i = 0; i < count; ++i) {
      if (args[i].type == KYMO_STRING)
        put_text(args[i].value.as_text, args[i].length, count - 1 - i);
      else
        put(args[i].value.as_uint);
    }
  }
  const uint64_t* words() noexcept {
    if (used_ % 2 != 0) words_[used_] = 0;
    return words_;
  }
  uint32_t cells() const noexcept { return (used_ + 1) / 2; }
  bool truncated() const noexcept { return truncated_; }

 private:
  uint32_t used_ = 0;
  bool truncated_ = false;
  uint64_t words_[kMaxPayloadWords + 1];
};

}  // namespace kymo::record
