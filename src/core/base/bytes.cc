#include "base/bytes.h"

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::base {

void ByteWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    byte(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  byte(static_cast<uint8_t>(value));
}

void ByteWriter::string(std::string_view text) {
  varint(text.size());
  append(as_bytes(text));
}

void ByteWriter::pad_to_multiple_of(size_t alignment) {
  bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
}

std::byte* ByteWriter::extend(size_t size) {
  const size_t at = bytes_.size();
  bytes_.resize(at + size);
  return bytes_.data() + at;
}

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  for (size_t i = 0; i < kLongestVarint; ++i) {
    const uint64_t bits = byte();
    const unsigned shift = static_cast<unsigned>(7 * i);
    if (i == kLongestVarint - 1 && bits > 1) break;  // more than 64 bits
    value |= (bits & 0x7f) << shift;
    if (bits < 0x80) return value;
  }
  throw Error("a varint is longer than 64 bits");
}

std::string_view ByteReader::string() {
  const Bytes bytes = take(varint());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

size_t ByteReader::count(size_t smallest_item) {
  const uint64_t items = varint();
  if (items > left() / smallest_item) {
    throw Error(base::format("{} items are announced, but only {} bytes follow", items, left()));
  }
  return items;
}

Bytes ByteReader::take(size_t size) {
  if (size > rest_.size()) throw Error(base::format("{} bytes are missing at the end", size - rest_.size()));
  const Bytes taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

void ByteReader::out_of_range(const char* what, uint64_t value) {
  throw Error(base::format("{} is out of range: {}", what, value));
}

}  // namespace kymo::base
