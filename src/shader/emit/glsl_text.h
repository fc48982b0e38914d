// Pieces of GLSL expressions: their text, and how tightly it binds, so that only the parentheses that are needed are
// written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shader/types/type.h"

namespace kymo::shader::glsl {

// From loose to tight, as GLSL has them.
enum class Level : uint8_t {
  Comma,
  Assignment,
  Conditional,
  LogicalOr,
  LogicalXor,
  LogicalAnd,
  Or,
  Xor,
  And,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Prefix,
  Postfix,  // calls, members, names, numbers
};

struct Text {
  std::string text;
  Level level = Level::Postfix;
};

// The text as an operand of something that binds like `level`.
std::string operand(const Text& text, Level level);

Text binary(const Text& left, std::string_view sign, const Text& right, Level level);
Text sum(const Text& left, const Text& right);               // without an added 0
Text product(const Text& left, uint64_t factor, bool wide);  // without a factor of 1; wide: of uint64_t, else of int

// A scalar's value as GLSL writes it: 5, 5u, 5ul, uint8_t(5), 0.5, -1.0. `bits` as in ir::Expression. Infinities and
// NaN are written as quotients, which are constant expressions too.
Text literal(TypeKind kind, uint64_t bits);
std::string number(uint64_t value);  // 12ul

inline constexpr std::string_view kComponents[] = {"x", "y", "z", "w"};

}  // namespace kymo::shader::glsl
