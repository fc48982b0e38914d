// Writes and reads byte sequences: little-endian fixed-width integers, varints and strings.
//
// ByteWriter grows as needed. ByteReader does not own its bytes and trusts none of them: every read is checked against
// the bytes left, and throws kymo::Error if there are too few. docs/format.md defines varint and string.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::base {

using Bytes = std::span<const std::byte>;

// The wire order is the memory order on all supported machines, so loads and stores below are plain copies.
static_assert(std::endian::native == std::endian::little, "the formats are little-endian and read in place");

template <std::unsigned_integral T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <std::unsigned_integral T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

inline constexpr size_t kLongestVarint = 10;

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void fixed(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    store(bytes_.data() + at, value);
  }
  void byte(uint8_t value) { bytes_.push_back(std::byte{value}); }
  void varint(uint64_t value);
  void string(std::string_view text);
  void append(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void pad_to_multiple_of(size_t alignment);  // with zero bytes

  // Adds `size` bytes at the end. The caller fills them, and calls truncate() to remove the unused ones.
  std::byte* extend(size_t size);
  void truncate(size_t size) { bytes_.resize(size); }
  void clear() { bytes_.clear(); }  // keeps the memory

  size_t size() const { return bytes_.size(); }
  std::byte* data() { return bytes_.data(); }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(Bytes untrusted) : rest_(untrusted) {}

  template <std::unsigned_integral T>
  T fixed() {
    return load<T>(take(sizeof(T)).data());
  }
  uint8_t byte() { return fixed<uint8_t>(); }
  uint64_t varint();
  // A varint that must fit the type. `what` is for the error message.
  template <std::unsigned_integral T>
  T varint_as(const char* what) {
    const uint64_t value = varint();
    if (value > static_cast<T>(~T{0})) out_of_range(what, value);
    return static_cast<T>(value);
  }
  std::string_view string();  // a view of the bytes that are read
  // The number of items that follow. Throws if they cannot fit into the bytes left, even with the smallest items, so
  // that a forged count cannot make the caller allocate.
  size_t count(size_t smallest_item = 1);

  Bytes take(size_t size);
  ByteReader sub(size_t size) { return ByteReader(take(size)); }
  size_t left() const { return rest_.size(); }

 private:
  [[noreturn]] static void out_of_range(const char* what, uint64_t value);

  Bytes rest_;
};

}  // namespace kymo::base
