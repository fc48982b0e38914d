// Literals: numbers, characters and texts. Metal has no double: 1.0 is a float.

#include <charconv>
#include <cstdlib>

#include "shader/preprocess/numbers.h"
#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

namespace {

struct FloatLiteral {
  float value = 0;
  TypeKind kind = TypeKind::Float;
};

FloatLiteral literals_float(std::string_view text) {
  FloatLiteral literal;
  std::string digits;
  for (const char letter : text) {
    if (letter != '\'') digits += letter;
  }
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  const auto ends = [&](std::string_view suffix) {
    if (digits.size() <= suffix.size() || !digits.ends_with(suffix)) return false;
    digits.resize(digits.size() - suffix.size());
    return true;
  };
  // In a hexadecimal number f and b are digits until the exponent, which a hexadecimal float always has.
  if (ends("bf") || ends("BF")) {
    literal.kind = TypeKind::BFloat;
  } else if (ends("h") || ends("H")) {
    literal.kind = TypeKind::Half;
  } else if (!ends("f") && !ends("F") && !ends("l")) {
    ends("L");
  }
  const char* first = digits.data() + (is_hex ? 2 : 0);
  const char* last = digits.data() + digits.size();
  const auto result =
      std::from_chars(first, last, literal.value, is_hex ? std::chars_format::hex : std::chars_format::general);
  // Out of range: infinity or zero, as strtof returns it.
  if (result.ec == std::errc::result_out_of_range) literal.value = std::strtof(digits.c_str(), nullptr);
  return literal;
}

}  // namespace

Value Lowering::literal(const ast::Expression& expression) {
  ir::Builder& make = build(expression.at);
  using Kind = ast::ExpressionKind;
  switch (expression.kind) {
    case Kind::Integer: {
      const std::optional<IntegerValue> number = integer_value(expression.text);
      if (!number) throw Rejected{expression.at, "the number " + in_quotes(expression.text) + " does not fit 64 bits"};
      const uint64_t value = number->value;
      // Decimal literals without a suffix become int or long; others may become unsigned before they become long.
      const bool is_decimal = expression.text.size() < 2 || expression.text[0] != '0';
      TypeKind kind = TypeKind::Int;
      const bool fits_int = value <= 0x7fffffffu, fits_uint = value <= 0xffffffffu,
                 fits_long = value <= 0x7fffffffffffffffu;
      if (number->is_unsigned && fits_long == false) {
        kind = TypeKind::ULong;
      } else if (number->is_unsigned) {
        kind = fits_uint && !number->is_long ? TypeKind::UInt : TypeKind::ULong;
      } else if (!number->is_long && fits_int) {
        kind = TypeKind::Int;
      } else if (!number->is_long && !is_decimal && fits_uint) {
        kind = TypeKind::UInt;
      } else {
        kind = fits_long ? TypeKind::Long : TypeKind::ULong;
      }
      Value literal = rvalue(make.constant_uint(value, kind));
      literal.is_literal_zero = value == 0;
      return literal;
    }
    case Kind::Float: {
      const FloatLiteral literal = literals_float(expression.text);
      return rvalue(make.constant_float(literal.value, literal.kind));
    }
    case Kind::Character: {
      const std::optional<char> value = character_value(expression.text);
      if (!value)
        throw Rejected{expression.at, "the character " + std::string(expression.text) + " is not one character"};
      return rvalue(make.constant_int(static_cast<signed char>(*value), TypeKind::Char));
    }
    case Kind::Bool:
      return rvalue(make.constant_bool(expression.flag));
    case Kind::Nullptr: {
      Value null = rvalue(make.null(table_.pointer(table_.get(TypeKind::Void), Space::Thread)));
      null.is_null = true;
      return null;
    }
    default: {
      Value text = rvalue(make.variable(text_constant(expression.text)));
      text.is_place = text.is_const = true;
      text.space = Space::Program;
      return text;
    }
  }
}

const ir::Variable& Lowering::text_constant(std::string_view text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return *known->second;
  const Type* letter = table_.get(TypeKind::Char);
  ir::Variable& made =
      module_.make_variable("text", table_.array(letter, static_cast<uint32_t>(text.size() + 1)), Space::Program);
  made.value = text_array(made.type, text, {});
  module_.constants.push_back(&made);
  texts_.emplace(std::string(text), &made);
  return made;
}

const ir::Expression* Lowering::text_array(const Type* type, std::string_view text, Location at) {
  if (text.size() > type->count) {
    throw Rejected{at,
                   "the text has " + std::to_string(text.size()) + " characters: " + in_quotes(type) + " is too short"};
  }
  std::vector<const ir::Expression*> letters;
  letters.reserve(type->count);
  for (uint32_t i = 0; i < type->count; ++i) {
    const auto letter = static_cast<unsigned char>(i < text.size() ? text[i] : '\0');
    letters.push_back(build(at).constant_uint(letter, type->inner->kind));
  }
  return build(at).construct(type, std::move(letters));
}

}  // namespace kymo::shader
