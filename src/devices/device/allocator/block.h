// A piece of device memory that the caching allocator handed out or keeps, and the segment it is cut from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/allocator/sizes.h"
#include "device/memory_source.h"

namespace kymo::device {

struct Segment;
struct StreamCache;

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
  // Live: the other streams that use it. One bit for each of the first 64 streams; then the other streams.
  std::atomic<uint64_t> used_on{0};
  std::unique_ptr<std::vector<StreamId>> used_on_more;
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

}  // namespace kymo::device
