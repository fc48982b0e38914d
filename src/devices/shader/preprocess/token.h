// The tokens of a source, after preprocessing.
#pragma once

#include <cstdint>
#include <string_view>

#include "shader/diagnostic.h"

namespace kymo::shader {

enum class TokenKind : uint8_t {
  End,         // the last one
  Identifier,  // keywords too: the parser knows them
  Integer,     // as written: "0x1fU"
  Float,       // as written: "1.5h"
  Character,   // as written, with its quotes
  String,      // as written, with its quotes; adjacent strings are not joined yet
  Punctuator,  // the longest match; but ">" is always one token (">>" is two tokens with adjacent columns), and "[[" is
               // two tokens too. Until macros are expanded, an operator that is a word keeps its spelling: "and"
  Pragma,      // a #pragma with a wish for a loop, until macros are expanded. Then the next token has the wish
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool space_before = false;  // for ">>" against "> >", and for #
  bool line_start = false;    // the first of its line
  uint16_t unroll = 0;        // of the pragma before it: unroll_wish.h
  std::string_view text;      // valid while the translation lives
  Location at;                // of a token from a macro: the position of the macro's name in the source

  bool is(std::string_view punctuator) const { return kind == TokenKind::Punctuator && text == punctuator; }
  bool is_name(std::string_view name) const { return kind == TokenKind::Identifier && text == name; }
};

}  // namespace kymo::shader
