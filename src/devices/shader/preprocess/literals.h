// The contents of literals: texts, characters, and numbers, such as 10u, 0x1f, 0b101, 017, 1'000, 1.5h, .5bf, 1e-3f,
// 0x1.8p3f.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shader/preprocess/lexer.h"

namespace kymo::shader {

struct NumberSpelling {
  TokenKind kind = TokenKind::Integer;  // or Float
  std::string fault;                    // empty: it is valid
};
NumberSpelling spelling_of_number(std::string_view text);

// For valid spellings; empty for a float or for a number with more than 64 bits.
struct IntegerValue {
  uint64_t value = 0;
  bool is_unsigned = false;  // by its suffix, or because it fits no signed type
  bool is_long = false;      // by its suffix
};
std::optional<IntegerValue> integer_value(std::string_view text);

// The value of a character as written, with its quotes: 'a', '\n', '\x41', '\0'; empty if it is not one character.
std::optional<char> character_value(std::string_view text);

// Appends the text between the quotes, with its escapes resolved. False: an escape is not valid.
bool append_unescaped(std::string_view content, std::string& into);

}  // namespace kymo::shader
