// The ring of a performance event: the kernel writes records, one thread reads them.
//
// A record stays in the ring until pop(), so several rings can be read in the order of their times without a copy. Only
// a record that crosses the end of the ring is copied. The content is checked: a record whose length does not fit
// discards what is in the ring, and is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace kymo::sample {

// The part that needs no kernel. `data` has a power of two bytes.
class RingReader {
 public:
  RingReader(const std::byte* data, uint64_t size) : data_(data), mask_(size - 1) {}

  // From now on, the bytes up to `head` can be read.
  void extend(uint64_t head) { head_ = head; }
  // The next record, with its header. Empty: there is none.
  base::Bytes front();
  void pop();
  uint64_t tail() const { return tail_; }
  uint64_t damaged() const { return damaged_; }  // how often the content was discarded

 private:
  void discard();

  const std::byte* data_;
  uint64_t mask_;
  uint64_t head_ = 0, tail_ = 0;
  uint64_t front_bytes_ = 0;
  uint64_t damaged_ = 0;
  std::vector<std::byte> joined_;
};

// Mapped from the file of an event.
class PerfRing {
 public:
  // `bytes` is a power of two and a multiple of the page size. Not valid if the kernel refuses: error() is the errno.
  PerfRing(int event, size_t bytes);
  ~PerfRing();
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;

  int error() const { return error_; }
  // Takes over what the kernel has written until now.
  void refresh();
  // Gives the space of all records that were popped back to the kernel.
  void release();
  RingReader& records() { return reader_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  int error_ = 0;
  RingReader reader_{nullptr, 1};
};

}  // namespace kymo::sample
