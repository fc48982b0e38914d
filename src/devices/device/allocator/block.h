// A piece of device memory that the caching allocator handed out or keeps, and the segment it is cut from.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/memory_source.h"
#include "kymo/memory.h"

namespace kymo::device {

struct Segment;
struct StreamCache;

inline constexpr StreamId kMaxStreams = 64;

// Created and owned by the allocator. The holder reads the first four members; the others belong to the allocator,
// under its lock.
struct alignas(64) Block {
  Address address = 0;
  size_t size = 0;       // handed out: the requested size, rounded to 512 bytes; free: the full size
  size_t requested = 0;  // the requested size
  StreamId stream = 0;   // its home: the stream that may use it without used_on()

  // Unused: a spare node. Parked: freed, but other streams may use it until the device was idle. Orphan: was live when
  // the device was reset.
  enum class State : uint8_t { Unused, Live, Free, Parked, Orphan } state = State::Unused;
  MemoryPool pool = MemoryPool::Small;
  bool loose = false;  // free: not yet merged with its neighbours
  uint16_t bin = 0;    // free: the number of its bin
  StreamCache* home = nullptr;
  Block* before = nullptr;  // neighbours within the segment, by address
  Block* after = nullptr;

  Block* next = nullptr;  // in its bin; unused and parked blocks: in a list that uses only `next`
  Block* previous = nullptr;
  // When it was freed, counted in requests. A block that was freed before the device was last idle is idle.
  uint64_t freed_at = 0;
  Segment* segment = nullptr;
  std::atomic<uint64_t> used_on{0};  // live: a bit for each other stream that uses it, of kMaxStreams
};

// One allocation from the driver, cut into blocks without gaps.
struct Segment {
  Address address = 0;
  size_t size = 0;
  MemoryPool pool = MemoryPool::Small;
  Block* first = nullptr;
  Segment* next = nullptr;
  Segment* previous = nullptr;

  bool unused() const { return first->state == Block::State::Free && first->after == nullptr; }
};

// Spare Block nodes. They are taken and returned in a few instructions, and kept until the end.
class BlockNodes {
 public:
  // A node in the state Unused; the caller sets all members. Throws std::bad_alloc.
  Block* take() {
    if (spare_ == nullptr) [[unlikely]]
      more();
    Block* const node = spare_;
    spare_ = node->next;
    return node;
  }

  void give(Block* node) noexcept {
    node->state = Block::State::Unused;
    node->next = spare_;
    spare_ = node;
  }

 private:
  static constexpr size_t kSlab = 64;

  [[gnu::noinline, gnu::cold]] void more() {
    slabs_.push_back(std::make_unique<Block[]>(kSlab));
    for (size_t i = kSlab; i-- > 0;) give(&slabs_.back()[i]);
  }

  Block* spare_ = nullptr;
  std::vector<std::unique_ptr<Block[]>> slabs_;
};

// ---- Sizes ---------------------------------------------------------------------------------------------------------
//
// The sizes of the caching allocator: how a request is rounded, which pool serves it, how large a segment is.
//
//   request, rounded to 512 bytes    pool          taken from a segment of
//   up to 1 MiB                      Small         8 MiB
//   below 10 MiB                     Large         32 MiB
//   below 64 MiB (shared: see below) ExtraLarge    twice the request
//   more                             Huge          its own, rounded to 2 MiB, never split
//
// So a request of 10 MiB or more never takes more than twice its size from the driver. If such a segment would exceed a
// watermark, or the driver has no segment that large, Kymo allocates one for the request alone.

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kBlockAlignment = 512;
inline constexpr size_t kMaxSmall = 1 * kMiB;
inline constexpr size_t kMinExtraLarge = 10 * kMiB;
inline constexpr size_t kSmallSegment = 8 * kMiB;
inline constexpr size_t kLargeSegment = 32 * kMiB;
inline constexpr size_t kDiscreteExtraLargeSegment = 128 * kMiB;
inline constexpr size_t kUnifiedExtraLargeSegment = 1024 * kMiB;
inline constexpr size_t kHugeRounding = 2 * kMiB;
// A huge block is handed out whole if the request leaves at most this much of it unused.
inline constexpr size_t kHugeSlack = 32 * kMiB;

constexpr size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) & ~(multiple - 1); }

// The max size of an extra large segment on a device with this `recommended_max`: requests of half of it and more are
// huge. The host uses shared memory too, so there a segment is at most a sixteenth of it.
constexpr size_t max_extra_large_segment(bool unified, size_t recommended_max) {
  if (!unified) return kDiscreteExtraLargeSegment;
  const size_t share = recommended_max / 16 / kHugeRounding * kHugeRounding;
  return std::clamp(share, kDiscreteExtraLargeSegment, kUnifiedExtraLargeSegment);
}

// The size of an extra large segment for a request of this size.
constexpr size_t extra_large_segment(size_t size, size_t max) {
  return std::min(2 * size / kHugeRounding * kHugeRounding, max);
}

}  // namespace kymo::device
