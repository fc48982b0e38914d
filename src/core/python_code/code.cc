#include "python_code/code.h"

#include <cstddef>
#include <limits>

// C, because the preloaded library is.
extern "C" {
#include "python_code/frames.c"
}

namespace kymo::python_code {
namespace {

constexpr int kNoLine = -128;

// Python 3.9: how many bytes of instructions, and how many lines further.
int64_t line_by_distances(base::Bytes table, int64_t line, int64_t instruction) {
  int64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += static_cast<uint8_t>(table[i]);
    if (at > instruction) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// Python 3.10: the same, but the line belongs to the instructions before the distance, and there may be none.
int64_t line_by_ranges(base::Bytes table, int64_t line, int64_t instruction) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto further = static_cast<int8_t>(table[i + 1]);
    if (further != kNoLine) line += further;
    end += static_cast<uint8_t>(table[i]);
    if (instruction < end) break;
  }
  return line;
}

// Python 3.11 and later: entries that begin with the highest bit.
int64_t line_by_locations(base::Bytes table, int64_t line, int64_t instruction) {
  constexpr unsigned kBegin = 0x80, kOneLine = 10, kNoColumns = 13, kLong = 14;
  int64_t end = 0;
  for (size_t i = 0; i < table.size();) {
    const auto head = static_cast<unsigned>(table[i++]);
    const unsigned kind = head >> 3 & 15;
    if (kind >= kOneLine && kind < kNoColumns) line += kind - kOneLine;
    if (kind == kNoColumns || kind == kLong) {
      uint64_t value = 0;
      for (unsigned shift = 0; i < table.size() && shift < 32; shift += 6) {
        const auto part = static_cast<unsigned>(table[i]);
        if ((part & kBegin) != 0) break;
        ++i;
        value |= uint64_t{part & 63} << shift;
        if ((part & 64) == 0) break;
      }
      line += (value & 1) != 0 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
    }
    while (i < table.size() && (static_cast<unsigned>(table[i]) & kBegin) == 0) ++i;  // columns
    end += int64_t{(head & 7) + 1} * 2;
    if (instruction < end) break;
  }
  return line;
}

void append_utf8(std::string& text, uint32_t character) {
  constexpr uint32_t kLast = 0x10ffff, kFirstSurrogate = 0xd800, kLastSurrogate = 0xdfff, kReplacement = 0xfffd;
  if (character > kLast || (character >= kFirstSurrogate && character <= kLastSurrogate)) character = kReplacement;
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) return add(character);
  if (character < 0x800) {
    add(0xc0 | character >> 6);
  } else {
    if (character < 0x10000) {
      add(0xe0 | character >> 12);
    } else {
      add(0xf0 | character >> 18);
      add(0x80 | (character >> 12 & 63));
    }
    add(0x80 | (character >> 6 & 63));
  }
  add(0x80 | (character & 63));
}

}  // namespace

uint32_t python_line(unsigned minor, base::Bytes table, uint32_t first_line, int64_t instruction) {
  if (instruction < 0) return first_line;
  const int64_t line = minor <= 9    ? line_by_distances(table, first_line, instruction)
                       : minor == 10 ? line_by_ranges(table, first_line, instruction)
                                     : line_by_locations(table, first_line, instruction);
  return line > 0 && line <= std::numeric_limits<int32_t>::max() ? static_cast<uint32_t>(line) : 0;
}

std::string python_text(base::Bytes bytes, unsigned width) {
  std::string text;
  for (size_t i = 0; width != 0 && i + width <= bytes.size(); i += width)
    append_utf8(text, width == 1   ? static_cast<uint8_t>(bytes[i])
                      : width == 2 ? base::load<uint16_t>(bytes.data() + i)
                                   : base::load<uint32_t>(bytes.data() + i));
  return text;
}

}  // namespace kymo::python_code
