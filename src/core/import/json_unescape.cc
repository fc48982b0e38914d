#include "import/json_unescape.h"

#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace kymo::import {
namespace {

constexpr size_t kDigits = 4;  // of \uXXXX

void append_utf8(std::string& to, uint32_t point) {
  const auto part = [&](unsigned shift) { to += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    to += static_cast<char>(point);
  } else if (point < 0x800) {
    to += static_cast<char>(0xC0 | point >> 6);
    part(0);
  } else if (point < 0x10000) {
    to += static_cast<char>(0xE0 | point >> 12);
    part(6), part(0);
  } else {
    to += static_cast<char>(0xF0 | point >> 18);
    part(12), part(6), part(0);
  }
}

// Four digits at `at`; false: there are none.
bool take_unit(std::string_view text, size_t at, uint32_t& unit) {
  if (text.size() < at + kDigits) return false;
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, unit, 16);
  return error == std::errc() && end == begin + kDigits;
}

bool is_high(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

}  // namespace

std::string unescaped_json(std::string_view escaped) {
  std::string text;
  text.reserve(escaped.size());
  for (size_t at = 0; at < escaped.size(); ++at) {
    if (escaped[at] != '\\' || at + 1 == escaped.size()) {
      text += escaped[at];
      continue;
    }
    uint32_t unit = 0, low = 0;
    switch (const char c = escaped[++at]) {
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      case 't':
        text += '\t';
        break;
      case 'u':
        if (!take_unit(escaped, at + 1, unit)) {
          text += c;
          break;
        }
        at += kDigits;
        if (is_high(unit) && escaped.substr(at + 1, 2) == "\\u" && take_unit(escaped, at + 3, low) && is_low(low)) {
          append_utf8(text, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
          at += 2 + kDigits;
        } else if (is_high(unit) || is_low(unit)) {
          text += base::kReplacementCharacter;
        } else {
          append_utf8(text, unit);
        }
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace kymo::import
