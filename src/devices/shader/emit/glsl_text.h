// Pieces of GLSL expressions, numbers, and the words that cannot be names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shader/emit/c_dialect.h"
#include "shader/emit/names.h"
#include "shader/types/type.h"

namespace kymo::shader::glsl {

using Level = Binding;
using Text = CText;

// The text as an operand of an operator with this precedence.
std::string operand(const Text& text, Level level);

Text binary(const Text& left, std::string_view sign, const Text& right, Level level);
Text sum(const Text& left, const Text& right);               // omits an added 0
Text product(const Text& left, uint64_t factor, bool wide);  // omits a factor of 1; wide: uint64_t, else int

// The value of a scalar in GLSL: 5, 5u, 5ul, uint8_t(5), 0.5, -1.0. `bits` as in ir::Expression. Infinities and NaN are
// written as quotients, which are constant expressions too.
Text literal(TypeKind kind, uint64_t bits);
std::string number(uint64_t value);  // 12ul

inline constexpr std::string_view kComponents[] = {"x", "y", "z", "w"};

// The words that cannot be names in a GLSL text.
const Reserved& reserved_words();

}  // namespace kymo::shader::glsl
