// Reads a table byte by byte, and never outside of it.
#pragma once

#include <string.h>

#include <cstdint>

namespace kymo::unwind {

// After the first read beyond the end, all reads return 0 and `good()` is false.
class ByteReader {
 public:
  ByteReader(const uint8_t* begin, const uint8_t* end) noexcept : at_(begin), end_(end < begin ? begin : end) {}

  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return at_ >= end_; }
  const uint8_t* position() const noexcept { return at_; }
  uint64_t left() const noexcept { return static_cast<uint64_t>(end_ - at_); }

  template <class Number>
  Number fixed() noexcept {
    Number number{};
    if (!take(sizeof number)) return number;
    memcpy(&number, at_ - sizeof number, sizeof number);
    return number;
  }
  uint8_t byte() noexcept { return fixed<uint8_t>(); }

  uint64_t unsigned_leb() noexcept { return leb().value; }
  int64_t signed_leb() noexcept {
    Leb read = leb();
    if (read.bits < 64 && (read.last & 0x40) != 0) read.value |= ~uint64_t{0} << read.bits;
    return static_cast<int64_t>(read.value);
  }

  void skip(uint64_t bytes) noexcept { take(bytes); }
  // The next `bytes` as a separate table.
  ByteReader part(uint64_t bytes) noexcept {
    const uint8_t* from = at_;
    return take(bytes) ? ByteReader(from, at_) : ByteReader(at_, at_);
  }

 private:
  struct Leb {
    uint64_t value = 0;
    unsigned bits = 0;  // number of bits read; 64 are kept
    uint8_t last = 0;
  };
  Leb leb() noexcept {
    Leb read;
    do {
      read.last = byte();
      if (read.bits < 64) read.value |= uint64_t{read.last & 0x7fu} << read.bits;
      read.bits += 7;
    } while ((read.last & 0x80) != 0 && good_);
    return read;
  }
  bool take(uint64_t bytes) noexcept {
    if (bytes > left()) {
      at_ = end_;
      good_ = false;
      return false;
    }
    at_ += bytes;
    return true;
  }

  const uint8_t *at_, *end_;
  bool good_ = true;
};

}  // namespace kymo::unwind
